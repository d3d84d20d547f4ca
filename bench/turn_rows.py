"""Turns: how full the context is, what a model is given, who is told, and compactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

from measure import Call, take_turns
from messages import TEXT_BYTES, messages, text
from overlay_rows import SHOWN, cover_but_59, cover_range, ids_in, message_ref
from raw import RawReader, new_id
from row import Row, slower
from world import OWNER, SESSION, World, go_round, open_store

from sapwood.compaction import create_compact_function
from sapwood.context import BlockConfig
from sapwood.model import Event
from sapwood.session import Session, SessionManager
from sapwood.stores.sqlite import SqliteStore

FEW = 100
OVERLAYS = 10
POINTS = 50
POINTS_AT_ONCE = 100
PREPARED = 60
COMPACTIONS = 30
APPENDS = 300
NEVER = 10**9

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
        chat.freeze_system_prompt()
        turns = take_turns(
            chat.context_tokens,
            lambda: raw.point(pos),
            world.times(POINTS),
            inner=POINTS_AT_ONCE,
            before_each=_appender(chat),
        )
    path.unlink()
    return slower(f"context with blocks, after an append at {length:,} messages", turns, 2)


def _cover_in_parts(store: SqliteStore, ids: list[str]) -> None:
    """Put overlays over the first half, one after the other."""
    each = len(ids) // 2 // OVERLAYS
    for number in range(OVERLAYS):
        first, last = ids[number * each], ids[(number + 1) * each - 1]
        cover_range(store, message_ref(first), message_ref(last), number)


def _manager(store: SqliteStore) -> SessionManager:
    """Give the sessions as `sapwood.open` does, with blocks."""
    return SessionManager(store, owner=OWNER, new_id=new_id, context=BLOCKS)


def _appender(chat: Session) -> Call:
    ready = cycle(list(messages(FEW)))
    return lambda: chat.append(next(ready))


def prepares(world: World) -> Iterator[Row]:
    """Prepare a turn of 60 entries at 100,000 messages, against one of 60 messages."""
    covered, fresh = _covered(world), world.copy(world.with_session_of(SHOWN))
    with open_store(covered) as large, open_store(fresh) as small:
        ours, plain = (_manager(store).session(SESSION) for store in (large, small))
        assert len(ours.prepare().messages) == len(plain.prepare().messages)
        turns = take_turns(ours.prepare, plain.prepare, world.times(PREPARED))
    yield slower("prepare at 100,000 messages, 60 shown, against 60", turns, 1.3)


def _covered(world: World) -> Path:
    """Give a session of 100,000 messages of which 60 entries are shown."""
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
    return _manager(store).on_compaction(digest).session(SESSION)


def append_with_listener(world: World) -> Iterator[Row]:
    """Append with a listener and a threshold that is never reached, against one without."""
    heard: list[Event] = []
    told_path, told_store = world.new_store("told")
    plain_path, plain_store = world.new_store("untold")
    with told_store, plain_store:
        told, plain = (
            SessionManager(store, owner=OWNER, new_id=new_id) for store in (told_store, plain_store)
        )
        told.on_event(heard.append).compact_after(NEVER)
        ours, without = (_appender(sessions.get(SESSION)) for sessions in (told, plain))
        go_round(told_path, ours)
        go_round(plain_path, without)
        turns = take_turns(ours, without, world.times(APPENDS))
    assert heard
    yield slower("append with a listener and a threshold, against without", turns, 1.2)
