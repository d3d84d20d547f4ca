"""What a session remembers from one call to the next, and what it must forget."""

from __future__ import annotations

import pytest

from sapwood import AsyncSession, AsyncSessionManager
from sapwood.compaction import CompactFunction, create_compact_function
from sapwood.errors import StoreCorruptError, UsageError
from sapwood.model import AppendEvent, CompactionNote, Event, NewSession, StatusEvent, Usage
from sapwood.session.compactor_state import KEY, CompactorState, with_failure

LONG = "a long story about the harbour " * 20


class Skills:
    def get(self) -> str:
        return "- sail: how to sail"

    def load(self, key: str) -> str | None:
        return "First, find a boat." if key == "sail" else None


def answering(answer: str, asked: list[str]) -> CompactFunction:
    def summarize(prompt: str) -> str:
        asked.append(prompt)
        return answer

    return create_compact_function(
        summarize, protect_head=1, tail_token_budget=0, min_tail_messages=2
    )


async def remembered_by(chat: AsyncSession) -> CompactorState:
    return await chat._stored.load_document(KEY, CompactorState)


async def test_a_summary_of_no_use_holds_the_next_one_back(sessions: AsyncSessionManager) -> None:
    asked: list[str] = []
    sessions.compact_with(answering("", asked)).compact_after(500)
    chat = await sessions.session("chat")
    for _ in range(30):
        await chat.append("user", LONG)
    assert 1 <= len(asked) < 12


async def test_a_good_one_is_remembered_and_forgives(sessions: AsyncSessionManager) -> None:
    asked: list[str] = []
    chat = (await sessions.session("chat")).compact_with(answering("", asked))
    await chat.append_all([("user", LONG)] * 8)
    await chat.compact()
    assert (await remembered_by(chat)).breaker.failures == 1
    await chat.compact_with(answering("short", asked)).compact()
    breaker = (await remembered_by(chat)).breaker
    assert (breaker.runs, breaker.failures, breaker.held_until_tokens) == (1, 0, 0)
    assert breaker.freed > 500


async def test_changes_of_two_processes_are_both_kept(sessions: AsyncSessionManager) -> None:
    chat, other = await sessions.session("chat"), await sessions.session("chat")
    await chat.append_all([("user", LONG)] * 8)
    asked: list[str] = []
    await chat.compact_with(answering("short", asked)).compact()
    before = sessions.store.put_document

    async def put_late(*args: object, **fields: object) -> object:
        # Between the reading and the writing, the other one writes.
        sessions.store.put_document = before  # type: ignore[method-assign]
        await other.undo_compaction()
        return await before(*args, **fields)  # type: ignore[arg-type]

    sessions.store.put_document = put_late  # type: ignore[method-assign, assignment]
    await chat._stored.change_document(KEY, CompactorState, lambda state: with_failure(state, 100))
    state = await remembered_by(chat)
    assert (len(state.undone), state.breaker.failures) == (1, 1)


async def test_of_what_was_taken_back_only_the_last_is_kept(chat: AsyncSession) -> None:
    note = CompactionNote(
        overlay="o",
        reason="",
        strategy="",
        tokens=1,
        covered_tokens=1,
        created_us=1,
        undone=True,
    )
    await chat.append_all([("user", LONG)] * 8)
    full = CompactorState(undone=[note] * 100)
    await chat._stored.change_document(KEY, CompactorState, lambda state: full)
    await chat.compact_with(answering("short", [])).compact()
    await chat.undo_compaction()
    undone = (await remembered_by(chat)).undone
    assert (len(undone), undone[0].overlay) == (100, "o")
    assert undone[-1].overlay != "o"


async def test_rule_08_a_state_that_cannot_be_read_is_not_overwritten(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    store = sessions.store
    await chat.append_all([("user", LONG)] * 8)
    await store.put_document("ada", "compactor", b"{broken", session="chat")
    with pytest.raises(StoreCorruptError, match="compactor"):
        await chat.compactions()
    with pytest.raises(StoreCorruptError):
        await chat.compact_with(answering("", [])).compact()
    document = await store.find_document("ada", "compactor", session="chat")
    assert document is not None
    assert document.value == b"{broken"


async def test_a_clear_lets_the_thresholds_be_crossed_again(sessions: AsyncSessionManager) -> None:
    heard: list[Event] = []
    sessions.on_event(heard.append).compact_after(100)
    chat = await sessions.session("chat")
    await chat.append("user", LONG)
    await chat.clear()
    await chat.append("user", LONG)
    crossed = [event.crossed for event in heard if isinstance(event, StatusEvent)]
    assert crossed.count("hard") == 2


async def test_a_clear_unloads_and_renders_anew(sessions: AsyncSessionManager) -> None:
    sessions.with_context("memory").with_context("skills", provider=Skills())
    chat = await sessions.session("chat")
    await chat.prepare()
    await chat.load_context("skills", "sail")
    await chat.replace_context_block("memory", "likes tea")
    await chat.clear()
    assert await chat.loaded_context() == []
    assert "likes tea" in await chat.system_prompt()
    assert (await chat.cache_report()).changes[0].reason == "clear"


async def test_another_prompt_is_measured_anew(sessions: AsyncSessionManager) -> None:
    sessions.with_context("memory", max_tokens=2_000)
    chat = await sessions.session("chat")
    await chat.append("user", "hello")
    empty = await chat.context_tokens()
    await chat.replace_context_block("memory", "likes tea " * 100)
    await chat.system_prompt()
    frozen = await chat.context_tokens()
    await chat.replace_context_block("memory", "likes tea " * 300)
    await chat.refresh_system_prompt()
    assert empty + 100 < frozen < await chat.context_tokens() - 100


async def test_a_report_counts_what_came_in_and_went_out(chat: AsyncSession) -> None:
    message = await chat.append("assistant", "hello")
    usage = Usage(id="c", message=message.id, input_tokens=1_000, output_tokens=70)
    await chat.add_usage(usage)
    assert await chat.context_tokens() == 1_070


async def test_a_retry_is_told_and_changes_nothing(
    sessions: AsyncSessionManager,
) -> None:
    heard: list[Event] = []
    chat = (await sessions.session("chat")).on_event(heard.append)
    for _ in range(2):
        await chat.append("user", "hello", id="m1")
    assert [type(event) for event in heard] == [AppendEvent, StatusEvent, AppendEvent]


async def test_another_leaf_is_prepared_and_not_compacted(chat: AsyncSession) -> None:
    asked: list[str] = []
    messages = await chat.append_all([("user", LONG)] * 10)
    chat.compact_with(answering("short", asked)).compact_after(100)
    await chat.prepare(leaf=messages[-2])
    assert (asked, await chat.overlays()) == ([], [])


async def test_pins_are_the_last_to_be_left_out(chat: AsyncSession) -> None:
    messages = await chat.append_all([("user", f"{n} {LONG}") for n in range(6)])
    await chat.pin(messages[1])
    await chat.add_overlay(messages[0], messages[2], "the beginning")
    given = await chat.prepare(budget=350)
    shown = [message.id for message in given.messages if message.id is not None]
    assert shown == [messages[1].id, messages[5].id]


async def test_an_old_undo_is_forgotten_by_a_new_one(chat: AsyncSession) -> None:
    await chat.append_all([("user", "q1"), ("assistant", "a1"), ("user", "q2")])
    await chat.undo()
    await chat.append("user", "q3")
    await chat.append("assistant", "a3")
    await chat.undo()
    await chat.redo()
    with pytest.raises(UsageError, match="nothing to redo"):
        await chat.redo()
    assert [m.text for m in (await chat.history()).messages_only] == ["q1", "a1", "q3", "a3"]


async def test_a_fork_has_the_settings_of_its_source(sessions: AsyncSessionManager) -> None:
    asked: list[str] = []
    sessions.with_context("memory", default="likes tea").compact_with(answering("short", asked))
    chat = await sessions.session("chat")
    await chat.append_all([("user", LONG)] * 8)
    fork = await chat.fork("fork")
    assert "likes tea" in (await fork.prepare()).prompt
    await fork.compact()
    assert len(asked) == 1


async def test_two_that_create_the_same_session_at_once_share_it(
    sessions: AsyncSessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sessions.store
    create = store.create_session

    async def create_late(owner: str, session: NewSession) -> object:
        # Between the look and the creation, the other one creates it.
        monkeypatch.undo()
        await create(owner, session)
        return await create(owner, session)

    monkeypatch.setattr(store, "create_session", create_late)
    chat = AsyncSession.create(store, owner="ada").for_session("shared")
    await chat.append("user", "hello")
    assert [m.text for m in (await chat.history()).messages_only] == ["hello"]


async def test_an_overlay_taken_back_ends_what_was_reported(chat: AsyncSession) -> None:
    messages = await chat.append_all([("user", LONG)] * 4)
    overlay = await chat.add_overlay(messages[0], messages[1], "short")
    await chat.add_usage(Usage(id="c", message=messages[-1].id, input_tokens=9_000))
    await chat.undo_overlay(overlay)
    assert await chat.context_tokens() == (await chat.record()).context_tokens
