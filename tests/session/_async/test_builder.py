from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood import AsyncSession, AsyncSessionManager, NewMessage, TextPart
from sapwood.context import BlockConfig
from sapwood.errors import NotFoundError, UsageError
from sapwood.model import Event
from sapwood.store import AsyncStore


@pytest.fixture
def store(sessions: AsyncSessionManager) -> AsyncStore:
    return sessions.store


async def test_a_builder_creates_its_session_on_the_first_write(store: AsyncStore) -> None:
    chat = AsyncSession.create(store, owner="ada").for_session("chat")
    assert await store.find_session("ada", "chat") is None
    with pytest.raises(NotFoundError):
        await chat.history()
    with pytest.raises(NotFoundError):
        await chat.context_tokens()
    await chat.append("user", "hello")
    assert [message.text for message in (await chat.history()).messages_only] == ["hello"]


@pytest.mark.parametrize("write", ["block", "usage", "record"])
async def test_every_first_write_creates_it(store: AsyncStore, write: str) -> None:
    from sapwood.model import Usage

    chat = AsyncSession.create(store, owner="ada").for_session("chat").with_context("memory")
    if write == "block":
        await chat.replace_context_block("memory", "likes tea")
    elif write == "usage":
        await chat.add_usage(Usage(id="u1", input_tokens=1))
    else:
        await chat.update_record(title="first")
    assert (await chat.record()).id == "chat"


async def test_a_session_that_was_deleted_is_not_created_again(store: AsyncStore) -> None:
    chat = AsyncSession.create(store, owner="ada").for_session("chat")
    await chat.append("user", "hello")
    await store.delete_session("ada", "chat")
    with pytest.raises(NotFoundError):
        await chat.append("user", "again")


async def test_the_order_of_the_builder_does_not_matter(store: AsyncStore) -> None:
    one = (
        AsyncSession.create(store, owner="ada")
        .with_cached_prompt()
        .compact_after(500)
        .with_context("soul", default="You are helpful.", readonly=True)
        .for_session("one")
        .with_context("memory", max_tokens=1100)
    )
    other = (
        AsyncSession.create(store, owner="ada")
        .for_session("other")
        .with_context("soul", default="You are helpful.", readonly=True)
        .with_context("memory", max_tokens=1100)
        .compact_after(500)
        .with_cached_prompt()
    )
    for chat in (one, other):
        await chat.append("user", "hello")
    assert await one.system_prompt() == await other.system_prompt()
    assert "You are helpful." in await one.system_prompt()


async def test_keywords_do_the_same_as_the_builder(store: AsyncStore) -> None:
    blocks = [BlockConfig("soul", default="You are helpful.", readonly=True)]
    given = AsyncSession.create(store, owner="ada", id="given", context=blocks, compact_after=500)
    built = (
        AsyncSession.create(store, owner="ada")
        .for_session("built")
        .with_context("soul", default="You are helpful.", readonly=True)
        .compact_after(500)
    )
    for chat in (given, built):
        await chat.append("user", "hello")
    assert await given.system_prompt() == await built.system_prompt()
    assert await given.context_tokens() == await built.context_tokens()


async def test_blocks_of_two_sessions_are_apart(store: AsyncStore) -> None:
    for id in ("one", "two"):
        chat = AsyncSession.create(store, owner="ada").for_session(id).with_context("memory")
        await chat.append_context_block("memory", f"this is {id}")
    for id in ("one", "two"):
        chat = AsyncSession.create(store, owner="ada").for_session(id).with_context("memory")
        assert (await chat.get_context_block("memory")).content == f"this is {id}"


async def test_what_a_manager_sets_holds_for_its_sessions(sessions: AsyncSessionManager) -> None:
    events: list[Event] = []
    sessions.with_context("memory", default="nothing yet").on_event(events.append)
    for id in ("one", "two"):
        chat = await sessions.session(id)
        assert "nothing yet" in await chat.system_prompt()
        await chat.append("user", "hello")
    assert {event.session for event in events} == {"one", "two"}
    assert {event.owner for event in events} == {"ada"}


async def test_open_takes_the_settings_as_keywords(tmp_path: Path) -> None:
    import sapwood

    url = f"sqlite:///{tmp_path}/settings.db"
    blocks = [BlockConfig("soul", default="Be brief.", readonly=True)]
    async with sapwood.open_async(url, context=blocks, compact_after=10_000) as sessions:
        chat = await sessions.session("chat")
        assert "Be brief." in (await chat.prepare()).prompt


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"compact_after": -1}, "compact_after"),
        ({"compact_after": 1.5}, "compact_after"),
        ({"compact_with": 3}, "compact_with"),
        ({"on_compaction_error": "x"}, "on_compaction_error"),
        ({"listeners": ["x"]}, r"listeners\[0\]"),
        ({"context": ["memory"]}, r"context\[0\]"),
        ({"context": [BlockConfig("a"), BlockConfig("a")]}, "'a'"),
        ({"context": [BlockConfig("a"), BlockConfig("A")]}, "'A'"),
        ({"context": [BlockConfig("a")], "searchable_history": "a"}, "'a'"),
        ({"searchable_history": ""}, "searchable_history"),
        ({"searchable_history": 5}, "searchable_history"),
        ({"token_counter": 5}, "token_counter"),
        ({"cached_prompt": "no"}, "cached_prompt"),
        ({"listeners": print}, "listeners"),
        ({"context": BlockConfig("a")}, "context"),
        ({"budget": 5}, "'budget'.*listeners"),
    ],
)
async def test_wrong_settings_are_named(
    store: AsyncStore, wrong: dict[str, Any], where: str
) -> None:
    with pytest.raises(UsageError, match=where):
        AsyncSession.create(store, owner="ada", **wrong)


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"label": ""}, "label"),
        ({"label": None}, "label"),
        ({"max_tokens": 0}, "'m'.*max_tokens"),
        ({"max_tokens": -1}, "'m'.*max_tokens"),
        ({"scope": "x"}, "'m'.*scope"),
        ({"scope": ["x"]}, "'m'.*scope"),
        ({"scope": "agent"}, "'m'.*agent"),
        ({"agent": "x"}, "'m'.*agent"),
        ({"provider": "text"}, "'m'.*provider"),
        ({"default": 5}, "'m'.*default"),
        ({"description": 5}, "'m'.*description"),
        ({"readonly": "x"}, "'m'.*readonly"),
        ({"default": "too long " * 50, "max_tokens": 3}, "'m'.*limit"),
    ],
)
async def test_a_wrong_block_is_refused_when_it_is_set(
    store: AsyncStore, wrong: dict[str, Any], where: str
) -> None:
    fields = {"label": "m", **wrong}
    chat = AsyncSession.create(store, owner="ada")
    with pytest.raises(UsageError, match=where) as by_method:
        chat.with_context(**fields)
    with pytest.raises(UsageError, match=where) as by_keyword:
        AsyncSession.create(store, owner="ada", context=[BlockConfig(**fields)])
    assert by_method.value.path == by_keyword.value.path


async def test_blocks_are_set_before_the_session_is_used(store: AsyncStore) -> None:
    chat = AsyncSession.create(store, owner="ada").for_session("chat").with_context("memory")
    await chat.replace_context_block("memory", "likes tea")
    with pytest.raises(UsageError, match="add_context"):
        chat.with_context("late")
    with pytest.raises(UsageError, match="already"):
        chat.for_session("other")
    await chat.add_context(BlockConfig("late", default="better late than never"))
    assert "better late" in await chat.system_prompt()
    chat.compact_after(100)


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_wrong_settings_open_nothing(tmp_path: Path) -> None:
    import sapwood

    with pytest.raises(UsageError, match="compact_after"):
        sapwood.open_async(f"sqlite:///{tmp_path}/never.db", compact_after=-1)
    with pytest.raises(UsageError, match="token_counter"):
        sapwood.open_async(f"sqlite:///{tmp_path}/never.db", token_counter=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"'ownr'.*owner"):
        sapwood.open_async(f"sqlite:///{tmp_path}/never.db", ownr="x")  # type: ignore[call-arg]
    assert files_in(tmp_path) == []


async def test_a_whole_message_is_appended_like_its_fields(store: AsyncStore) -> None:
    chat = AsyncSession.create(store, owner="ada").for_session("chat")
    message = NewMessage(role="user", parts=[TextPart(text="hello")], id="m1", metadata={"a": 1})
    assert await chat.append(message) == await chat.append(
        "user", "hello", id="m1", metadata={"a": 1}
    )
    for given in ({"content": "x"}, {"id": "x"}, {"metadata": {}}):
        with pytest.raises(UsageError):
            await chat.append(message, **given)
    with pytest.raises(UsageError, match="content"):
        await chat.append("user")


async def test_the_owners_history_can_be_searched_by_the_model(
    sessions: AsyncSessionManager,
) -> None:
    await (await sessions.session("old")).append("user", "The boat lies in the harbour.")
    sessions.with_searchable_history("past")
    chat = await sessions.session("new")
    await chat.append("user", "Where is the lighthouse?")
    given = await chat.prepare()
    assert "PAST" in given.prompt
    names = {tool.name for tool in given.tools}
    assert {"search_context", "session_search"} <= names
    for query, found in [("boat", "harbour"), ("lighthouse", "Where is")]:
        answer = await chat.call_tool("search_context", {"label": "past", "query": query})
        assert found in answer
    assert "harbour" in await chat.call_tool("session_search", {"query": "boat"})
    # More sessions change neither the prompt nor the tools.
    await sessions.session("newer")
    again = await (await sessions.get("new")).prepare()
    assert (again.prompt, again.tools) == (given.prompt, given.tools)


@pytest.mark.parametrize("label", ["first", "SECOND", "Past"])
async def test_a_label_that_another_block_has_is_refused_when_it_is_added(
    sessions: AsyncSessionManager, label: str
) -> None:
    sessions.with_context("first").with_searchable_history("past").with_context("second")
    with pytest.raises(UsageError, match="comes"):
        sessions.with_context(label)
    sessions.with_context("first second")
