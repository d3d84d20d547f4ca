"""Turns: how full the context is, what a model is given, and compactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from history_rows import ESTIMATE_BAR
from listener_rows import appender_to
from measure import take_turns
from messages import TEXT_BYTES, text
from overlay_rows import SHOWN, cover_but_59, cover_range, ids_in, message_ref
from raw import RawReader, new_id
from row import Row, slower
from world import OWNER, SESSION, World, open_store

from sapwood.compaction import create_compact_function
from sapwood.context import BlockConfig
from sapwood.session import Session, SessionManager
from sapwood.stores.sqlite import SqliteStore

FEW = 100
OVERLAYS = 10
POINTS = 400
PREPARED = 60
COMPACTIONS = 30

BLOCKS = [
    BlockConfig("soul", default="You are a helpful assistant.", readonly=True),
    BlockConfig("memory", default=text(TEXT_BYTES, 0), max_tokens=1_100),
]


def context_estimates(world: World) -> Iterator[Row]:
    """Ask a session with blocks and overlays how full it is after an append, against a raw read."""
    for length in (FEW, world.size(100_000)):
        yield _context_estimate(world, length)


def _context_estimate(world: World, length: int) -> Row:
    path = world.copy(world.with_session_of(length))
    with open_store(path, "normal") as store, closing(RawReader(path)) as raw:
        # Not the last message, which is a large tool result.
        pos = raw.segment()[1] - 5
        _cover_in_parts(store, ids_in(store))
        chat = _manager(store).session(SESSION)
        chat.system_prompt()
        turns = take_turns(
            chat.context_tokens,
            lambda: raw.point(pos),
            world.times(POINTS),
            # Once for each append: what was written has to be read anew, on either side.
            before_each=appender_to(chat),
        )
    path.unlink()
    return slower(
        f"context with blocks, after an append at {length:,} messages", turns, ESTIMATE_BAR
    )


def _cover_in_parts(store: SqliteStore, ids: list[str]) -> None:
    """Put overlays over the first half, one after the other."""
    each = len(ids) // 2 // OVERLAYS
    for number in range(OVERLAYS):
        first, last = ids[number * each], ids[(number + 1) * each - 1]
        cover_range(store, message_ref(first), message_ref(last), number)


def _manager(store: SqliteStore) -> SessionManager:
    """Return the sessions as `sapwood.open` does, with blocks."""
    return SessionManager(store, owner=OWNER, new_id=new_id, context=BLOCKS)


def prepares(world: World) -> Iterator[Row]:
    """Prepare a turn of 60 entries at 100,000 messages, against one of 60 messages."""
    covered, fresh = _covered(world), world.copy(world.with_session_of(SHOWN))
    with open_store(covered) as large, open_store(fresh) as small:
        ours, plain = (_manager(store).session(SESSION) for store in (large, small))
        assert len(ours.prepare().messages) == len(plain.prepare().messages)
        turns = take_turns(ours.prepare, plain.prepare, world.times(PREPARED))
    yield slower("prepare at 100,000 messages, 60 shown, against 60", turns, 1.3)


def _covered(world: World) -> Path:
    """Return a session of 100,000 messages of which 60 entries are shown."""
    path = world.copy(world.with_100_000())
    with open_store(path, "normal") as store:
        cover_but_59(store, ids_in(store))
    return path


def compactions(world: World) -> Iterator[Row]:
    """Compact 60 entries at 100,000 messages, against 60 messages; each is taken back again."""
    covered, fresh = _covered(world), world.copy(world.with_session_of(SHOWN))
    with open_store(covered) as large, open_store(fresh) as small:
        chats = [_compactable(store) for store in (large, small)]

        def undo() -> None:
            for chat in chats:
                chat.undo_compaction()

        for chat in chats:
            assert chat.compact().overlay is not None
        ours, plain = chats
        turns = take_turns(ours.compact, plain.compact, world.times(COMPACTIONS), before_each=undo)
    yield slower("compact at 100,000 messages, 60 shown, against 60", turns, 1.3)


def _compactable(store: SqliteStore) -> Session:
    digest = create_compact_function(strategy="digest", tail_token_budget=2_000)
    return _manager(store).compact_with(digest).session(SESSION)
