"""How blocks are configured, who is told of their changes, and what damage does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.context import (
    AsyncStoreEntries,
    BlockConfig,
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
from .kept import MEMORY, entries_of


async def test_blocks_are_added_and_removed_at_run_time(make: Make) -> None:
    context = make(MEMORY)
    added = await context.add(BlockConfig("soul", provider=TextProvider("BlockKind.")))
    assert added.content == "BlockKind."
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
        ({"label": "x" * 257}, "label"),
        ({"label": 7}, "label"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"description": 7}, "description"),
        ({"default": "\ud800"}, "default"),
        ({"scope": "world"}, "scope"),
        ({"scope": "agent"}, "agent"),
        ({"agent": "cook"}, "agent"),
        ({"label": "x" * 256, "scope": "agent", "agent": "/" * 256}, "label"),
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
