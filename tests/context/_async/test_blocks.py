"""Blocks: reading, writing, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood.context import (
    AsyncStoreBlock,
    AsyncStoreEntries,
    BlockConfig,
    CallableProvider,
    FileProvider,
    TextProvider,
)
from sapwood.errors import (
    BlockLimitError,
    NotFoundError,
    SapwoodError,
    StaleVersionError,
    StoreCorruptError,
    UsageError,
)
from sapwood.model import NewSession
from sapwood.store import AsyncStore

from .conftest import Make

MEMORY = BlockConfig("memory", description="Facts", max_tokens=20)


class Kept:
    """A writable provider, which can be told to fail."""

    def __init__(self, content: str | None = None) -> None:
        self.content = content
        self.fails = False

    def get(self) -> str | None:
        if self.fails:
            raise OSError("no answer")
        return self.content

    def set(self, content: str) -> None:
        if self.fails:
            raise OSError("no answer")
        self.content = content


async def test_a_block_is_empty_until_it_is_written(make: Make) -> None:
    block = await make(MEMORY).block("memory")
    assert (block.content, block.tokens, block.version, block.origin) == ("", 0, 0, "default")
    assert (block.writable, block.loadable, block.searchable) == (True, False, False)
    assert (block.description, block.max_tokens) == ("Facts", 20)


async def test_what_is_written_is_there_for_the_next_context(make: Make) -> None:
    written = await make(MEMORY).replace("memory", "Likes tea.")
    read = await make(MEMORY).block("memory")
    assert read == written
    assert (read.content, read.origin, read.by) == ("Likes tea.", "user", "chat")
    assert read.version


async def test_an_appended_text_stands_on_a_line_of_its_own(make: Make) -> None:
    context = make(MEMORY)
    await context.append("memory", "a")
    await context.append("memory", "b")
    assert (await context.append("memory", "\nc\n")).content == "a\nb\nc\n"
    assert (await context.append("memory", "d")).content == "a\nb\nc\nd"


async def test_nothing_appended_is_nothing_written(make: Make) -> None:
    context = make(MEMORY)
    assert (await context.append("memory", "")).version == 0
    before = await context.replace("memory", "a")
    assert await context.append("memory", "") == before


async def test_the_same_again_writes_nothing(make: Make) -> None:
    context = make(MEMORY)
    first = await context.replace("memory", "a")
    assert await context.replace("memory", "a") == first
    assert len(await context.versions("memory")) == 1
    by_model = await context.replace("memory", "a", origin="model")
    assert (by_model.origin, len(await context.versions("memory"))) == ("model", 2)


async def test_a_default_is_used_until_something_is_written(make: Make) -> None:
    config = BlockConfig("memory", default="Nothing is known.")
    context = make(config)
    assert (await context.block("memory")).content == "Nothing is known."
    assert (await context.append("memory", "b")).content == "Nothing is known.\nb"
    assert (await context.replace("memory", "")).content == ""
    assert (await make(config).block("memory")).content == ""


async def test_a_read_only_default_is_a_text(make: Make) -> None:
    context = make(BlockConfig("soul", default="You are kind.", readonly=True))
    block = await context.block("soul")
    assert (block.content, block.writable, block.version, block.origin) == (
        "You are kind.",
        False,
        None,
        "default",
    )
    for write in (context.replace, context.append):
        with pytest.raises(UsageError, match="read-only"):
            await write("soul", "You are mean.")
    with pytest.raises(UsageError, match="read-only"):
        await context.undo("soul")


async def test_a_read_only_block_shows_what_others_store(make: Make) -> None:
    await make(BlockConfig("rules", scope="owner")).replace("rules", "No jokes.")
    reading = make(BlockConfig("rules", scope="owner", readonly=True, default="Any."))
    assert (await reading.block("rules")).content == "No jokes."
    with pytest.raises(UsageError, match="read-only"):
        await reading.replace("rules", "Jokes.")


async def test_scopes_say_who_shares_a_block(make: Make, store: AsyncStore) -> None:
    await store.create_session("ada", NewSession(id="other"))
    await store.create_session("bob", NewSession(id="chat"))
    configs = [
        BlockConfig("mine"),
        BlockConfig("ours", scope="owner"),
        BlockConfig("cook", scope="agent", agent="cook"),
    ]
    context = make(*configs)
    for config in configs:
        await context.replace(config.label, f"said in {config.label}")
    texts = [block.content for block in await make(*configs, session="other").blocks()]
    assert texts == ["", "said in ours", "said in cook"]
    assert [block.content for block in await make(*configs, owner="bob").blocks()] == [""] * 3
    guard = make(BlockConfig("cook", scope="agent", agent="guard"))
    assert (await guard.block("cook")).content == ""


async def test_agents_and_labels_with_slashes_do_not_meet(make: Make) -> None:
    one = make(BlockConfig("b/block/c", scope="agent", agent="a"))
    other = make(BlockConfig("c", scope="agent", agent="a/block/b"))
    await one.replace("b/block/c", "x")
    assert (await other.block("c")).content == ""


async def test_documents_are_where_they_are_said_to_be(make: Make, store: AsyncStore) -> None:
    context = make(
        BlockConfig("memory"),
        BlockConfig("ours", scope="owner"),
        BlockConfig("tricks", scope="agent", agent="cook"),
    )
    for block in await context.blocks():
        await context.replace(block.label, "x")
    assert await store.find_document("ada", "block/memory", session="chat")
    assert await store.find_document("ada", "block/ours")
    assert await store.find_document("ada", "agent/cook/block/tricks")


async def test_an_unknown_label_is_told_with_those_there_are(make: Make) -> None:
    context = make(MEMORY)
    calls: list[Any] = [context.block, context.undo, context.versions]
    for call in calls:
        with pytest.raises(NotFoundError, match="'memory'") as raised:
            await call("memories")
        assert (raised.value.kind, raised.value.id) == ("block", "memories")
    for write in (context.replace, context.append, context.load, context.unload, context.search):
        with pytest.raises(NotFoundError):
            await write("memories", "x")


async def test_a_session_that_is_not_there_is_an_error(make: Make) -> None:
    context = make(MEMORY, session="nowhere")
    for read in (context.blocks, context.peek, context.updates, context.loaded, context.freeze):
        with pytest.raises(NotFoundError):
            await read()
    with pytest.raises(NotFoundError):
        await context.replace("memory", "x")


async def test_no_block_of_a_deleted_session_is_left(make: Make, store: AsyncStore) -> None:
    # L4: deleting left blocks and prompts behind.
    context = make(MEMORY, BlockConfig("notes", provider=entries_of(store)))
    await context.replace("memory", "x")
    await context.put_entry("notes", "a", "b")
    await context.load("notes", "a")
    await context.freeze()
    assert len(await store.list_documents("ada", session="chat")) == 4
    await store.delete_session("ada", "chat")
    await store.create_session("ada", NewSession(id="chat"))
    assert await store.list_documents("ada", session="chat") == []
    assert await make(MEMORY).peek() is None


def entries_of(store: AsyncStore) -> AsyncStoreEntries:
    return AsyncStoreEntries(store, "ada", "notes", session="chat", scope="session")


# limits


async def test_the_limit_holds_for_the_whole_result_on_every_path(make: Make) -> None:
    context = make(MEMORY, counter=len)
    await context.replace("memory", "x" * 20)
    for write, text in ((context.replace, "x" * 21), (context.append, "y")):
        with pytest.raises(BlockLimitError, match=r"'memory' would have 2[12] .* limit is 20"):
            await write("memory", text)
    block = await context.block("memory")
    assert (block.content, len(await context.versions("memory"))) == ("x" * 20, 1)


async def test_undo_keeps_the_limit_too(make: Make) -> None:
    await make(MEMORY, counter=len).replace("memory", "x" * 20)
    await make(MEMORY, counter=len).replace("memory", "short")
    tight = make(BlockConfig("memory", max_tokens=10), counter=len)
    with pytest.raises(BlockLimitError):
        await tight.undo("memory")
    assert (await tight.block("memory")).content == "short"


async def test_a_default_over_the_limit_is_refused_at_once(make: Make) -> None:
    with pytest.raises(BlockLimitError):
        make(BlockConfig("memory", max_tokens=1, default="far too much for that"))
    context = make()
    with pytest.raises(BlockLimitError):
        await context.add(BlockConfig("memory", max_tokens=1, default="far too much for that"))
    assert await context.blocks() == []


async def test_a_files_limit_is_kept_when_it_is_written(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("x" * 30)
    provider = FileProvider(file, writable=True)
    context = make(BlockConfig("notes", max_tokens=20, provider=provider), counter=len)
    assert (await context.block("notes")).tokens == 30
    with pytest.raises(BlockLimitError):
        await context.append("notes", "y")
    with pytest.raises(BlockLimitError):
        await context.replace("notes", "y" * 21)
    assert file.read_text() == "x" * 30
    await context.replace("notes", "y" * 20)
    assert file.read_text() == "y" * 20


async def test_a_keyed_entry_keeps_the_limit(make: Make, store: AsyncStore) -> None:
    config = BlockConfig("notes", max_tokens=20, provider=entries_of(store))
    context = make(config, counter=len)
    with pytest.raises(BlockLimitError):
        await context.put_entry("notes", "a", "x" * 21)
    with pytest.raises(BlockLimitError):
        await context.put_entry("notes", "a", "x", "a description that is too long")
    assert await entries_of(store).entries() == []
    await context.put_entry("notes", "a", "x" * 20)


async def test_a_counter_that_fails_is_replaced_by_the_estimate(make: Make) -> None:
    def broken(text: str) -> int:
        raise RuntimeError("no tokens")

    for counter in (broken, lambda text: -1, lambda text: 2.5):
        context = make(MEMORY, counter=counter)
        assert (await context.replace("memory", "Likes tea.")).tokens == 3


@pytest.mark.parametrize("wrong", ["\ud800", 7, None, b"x"])
async def test_what_is_no_text_is_refused(make: Make, wrong: Any) -> None:
    context = make(MEMORY, BlockConfig("file", provider=Kept("a")))
    for label in ("memory", "file"):
        for write in (context.replace, context.append):
            with pytest.raises(UsageError, match="content") as raised:
                await write(label, wrong)
            assert raised.value.path == "content"


# providers


async def test_a_provider_that_fails_is_left_as_it_was(make: Make) -> None:
    kept = Kept("a")
    context = make(BlockConfig("memory", provider=kept))
    kept.fails = True
    for write in (context.append, context.replace):
        with pytest.raises(OSError, match="no answer"):
            await write("memory", "b")
    with pytest.raises(OSError, match="no answer"):
        await context.block("memory")
    [block] = await context.blocks()
    assert (block.content, block.error) == ("", "OSError: no answer")
    kept.fails = False
    assert (await context.block("memory")).content == "a"
    assert (await context.append("memory", "b")).content == "a\nb"
    assert kept.content == "a\nb"


async def test_a_provider_has_no_versions(make: Make) -> None:
    context = make(BlockConfig("memory", provider=Kept("a")))
    assert (await context.block("memory")).version is None
    calls: list[Any] = [context.undo, context.versions]
    for call in calls:
        with pytest.raises(UsageError, match="no versions"):
            await call("memory")
    with pytest.raises(UsageError, match="no versions"):
        await context.replace("memory", "b", expected_version=3)


async def test_a_provider_is_not_written_where_it_is_read_only(make: Make) -> None:
    kept = Kept("a")
    context = make(BlockConfig("memory", provider=kept, readonly=True))
    assert not (await context.block("memory")).writable
    with pytest.raises(UsageError, match="read-only"):
        await context.replace("memory", "b")
    assert kept.content == "a"


async def test_a_provider_without_text_gives_the_default(make: Make) -> None:
    context = make(BlockConfig("memory", provider=Kept(None), default="none yet"))
    assert (await context.block("memory")).content == "none yet"
    assert (await context.append("memory", "b")).content == "none yet\nb"


async def test_a_stored_block_can_be_given_as_a_provider(make: Make, store: AsyncStore) -> None:
    shared = AsyncStoreBlock(store, "ada", "shared", scope="owner")
    await shared.set("a")
    context = make(BlockConfig("memory", provider=shared))
    assert (await context.append("memory", "b")).version
    assert await shared.get() == "a\nb"
    assert (await context.undo("memory")).content == "a"


@pytest.mark.parametrize("given", [7, ["a"], b"a", "\ud800"])
async def test_a_provider_that_gives_no_text_is_told(make: Make, given: Any) -> None:
    context = make(BlockConfig("memory", provider=CallableProvider(lambda: given)))
    with pytest.raises(UsageError, match="'memory'"):
        await context.block("memory")
    [block] = await context.blocks()
    assert block.error is not None


# configuration


async def test_blocks_are_added_and_removed_at_run_time(make: Make) -> None:
    context = make(MEMORY)
    added = await context.add(BlockConfig("soul", provider=TextProvider("Kind.")))
    assert added.content == "Kind."
    assert [block.label for block in await context.blocks()] == ["memory", "soul"]
    await context.replace("memory", "a")
    assert await context.remove("memory")
    assert not await context.remove("memory")
    assert [config.label for config in context.configs] == ["soul"]
    assert (await context.add(MEMORY)).content == "a"


@pytest.mark.parametrize("label", ["memory", "Memory", "MEMORY"])
async def test_a_label_that_is_taken_is_refused(make: Make, label: str) -> None:
    with pytest.raises(UsageError, match="label"):
        make(MEMORY, BlockConfig(label))
    context = make(MEMORY)
    with pytest.raises(UsageError, match="label"):
        await context.add(BlockConfig(label))
    assert len(context.configs) == 1


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"label": ""}, "label"),
        ({"label": "a\nb"}, "label"),
        ({"label": "x" * 251}, "label"),
        ({"label": 7}, "label"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"description": 7}, "description"),
        ({"default": "\ud800"}, "default"),
        ({"scope": "world"}, "scope"),
        ({"scope": "agent"}, "agent"),
        ({"agent": "cook"}, "agent"),
        ({"scope": "agent", "agent": "x" * 250}, "label"),
        ({"provider": {"get": 1}}, "provider"),
        ({"provider": "text"}, "provider"),
        ({"provider": TextProvider}, "provider"),
    ],
)
async def test_a_wrong_configuration_is_refused(
    make: Make, config: dict[str, Any], path: str
) -> None:
    with pytest.raises(UsageError) as raised:
        make(BlockConfig(**{"label": "memory", **config}))
    assert raised.value.path == path


async def test_what_is_no_configuration_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match="BlockConfig"):
        make("memory")  # type: ignore[arg-type]
    for options in ({"owner": ""}, {"session": ""}):
        with pytest.raises(UsageError):
            make(**options)


# hooks


async def test_a_change_is_told(make: Make, store: AsyncStore) -> None:
    told: list[tuple[str, str]] = []
    context = make(
        MEMORY,
        BlockConfig("notes", provider=entries_of(store)),
        on_change=lambda *change: told.append(change),
    )
    await context.replace("memory", "a")
    await context.append("memory", "b")
    await context.undo("memory")
    await context.put_entry("notes", "t", "x")
    await context.load("notes", "t")
    await context.load("notes", "t")
    await context.unload("notes", "t")
    await context.unload("notes", "t")
    await context.load("notes", "t")
    await context.unload_all()
    await context.unload_all()
    await context.remove("memory")
    await context.add(MEMORY)
    assert told == [
        ("memory", "replace"),
        ("memory", "append"),
        ("memory", "undo"),
        ("notes", "entry"),
        *[("notes", "load"), ("notes", "unload")] * 2,
        ("memory", "remove"),
        ("memory", "add"),
    ]


async def test_a_listener_that_fails_harms_nothing(make: Make) -> None:
    def listener(label: str, action: str) -> None:
        raise RuntimeError("not today")

    assert (await make(MEMORY, on_change=listener).replace("memory", "a")).content == "a"


async def test_a_session_is_created_by_the_first_write(make: Make, store: AsyncStore) -> None:
    created: list[int] = []

    async def create() -> None:
        created.append(1)
        if await store.find_session("ada", "late") is None:
            await store.create_session("ada", NewSession(id="late"))

    context = make(MEMORY, session="late", before_write=create)
    with pytest.raises(NotFoundError):
        await context.blocks()
    with pytest.raises(BlockLimitError):
        await context.replace("memory", "word " * 100)
    with pytest.raises(SapwoodError):
        await context.load("memory", "x")
    assert not await context.unload("memory", "x")
    assert await context.unload_all() == 0
    assert created == []
    await context.append("memory", "a")
    assert created == [1]
    assert (await context.block("memory")).content == "a"
    assert created == [1]


@pytest.mark.parametrize("first", ["freeze", "refresh", "load", "put_entry"])
async def test_any_write_may_be_the_first(make: Make, store: AsyncStore, first: str) -> None:
    async def create() -> None:
        if await store.find_session("ada", "late") is None:
            await store.create_session("ada", NewSession(id="late"))

    notes = AsyncStoreEntries(store, "ada", "notes", session="late", scope="session")
    shared = AsyncStoreEntries(store, "ada", "shared")
    await shared.set("a", "text")
    context = make(
        MEMORY,
        BlockConfig("notes", provider=notes, max_tokens=100),
        BlockConfig("shared", provider=shared),
        session="late",
        before_write=create,
    )
    if first == "load":
        await context.load("shared", "a")
    elif first == "put_entry":
        await context.put_entry("notes", "a", "text")
    else:
        assert "cannot be read" not in await getattr(context, first)()
    assert await store.find_session("ada", "late")


# damage


async def test_a_damaged_block_is_told_and_not_overwritten(make: Make, store: AsyncStore) -> None:
    for damage in (b"{", b"[]", b'{"content": 7, "origin": "user"}', b"\xff"):
        await store.put_document("ada", "block/memory", damage, session="chat")
        context = make(MEMORY)
        calls: list[tuple[Any, ...]] = [
            (context.block, "memory"),
            (context.blocks,),
            (context.replace, "memory", "a"),
            (context.append, "memory", "a"),
            (context.undo, "memory"),
            (context.freeze,),
        ]
        for call, *args in calls:
            with pytest.raises(StoreCorruptError, match="block/memory"):
                await call(*args)
        document = await store.find_document("ada", "block/memory", session="chat")
        assert document is not None
        assert document.value == damage
    assert await make(MEMORY).peek() is None


async def test_a_newer_documents_extra_fields_do_not_matter(make: Make, store: AsyncStore) -> None:
    value = msgspec.json.encode({"content": "a", "origin": "user", "colour": "red"})
    await store.put_document("ada", "block/memory", value, session="chat")
    assert (await make(MEMORY).block("memory")).content == "a"


async def test_a_stale_version_is_refused(make: Make) -> None:
    context = make(MEMORY)
    first = await context.replace("memory", "a", expected_version=0)
    second = await context.append("memory", "b", expected_version=first.version)
    for write in (context.replace, context.append):
        for stale in (0, first.version):
            with pytest.raises(StaleVersionError):
                await write("memory", "c", expected_version=stale)
    assert await context.block("memory") == second
