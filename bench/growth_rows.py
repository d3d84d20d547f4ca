"""Calls on much, against the same on little: what they cost must not grow, or only in proportion.

The stores are opened with `durability="normal"`: a wait for the disk would hide the growth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from measure import Call, take_turns
from messages import TEXT_BYTES, messages, text
from overlay_rows import cover_range, ids_in, message_ref
from raw import new_id
from row import Row, slower
from world import OWNER, SESSION, World, fill, open_store

from sapwood.model import ForkPoint, NewOverlay, NewSession, Usage
from sapwood.session import SessionManager
from sapwood.stores.sqlite import SqliteStore

SHORT_CHAIN, LONG_CHAIN = 100, 800
FORKS = 100
FEW_OVERLAYS, MANY_OVERLAYS = 200, 800
APART = 3
MADE = 40
CHECKOUTS = 100
SHORT_HISTORY, LONG_HISTORY = 2_000, 32_000
BUDGET = 5_000
PREPARED = 40
FEW_SESSIONS, MANY_SESSIONS = 1_000, 16_000
USAGES = 50
FEW_BLOCKS, MANY_BLOCKS = 50, 800
FREEZES = 8


def fork_chains(world: World) -> Iterator[Row]:
    """Fork the last of a chain of forks, each of which has a message of its own."""
    with _chain(world, LONG_CHAIN) as long, _chain(world, SHORT_CHAIN) as short:
        sides = (_forker(long, LONG_CHAIN), _forker(short, SHORT_CHAIN))
        turns = take_turns(*sides, world.times(FORKS))
    yield slower("fork of a chain of 800 forks, against 100", turns, 1.5)


def _chain(world: World, length: int) -> SqliteStore:
    _, store = world.new_store(f"chain-{length}", "normal")
    said = list(messages(length + 1))
    store.append(OWNER, SESSION, said[:1])
    for number in range(1, length + 1):
        source = SESSION if number == 1 else str(number - 1)
        new = NewSession(id=str(number), fork=ForkPoint(session=source))
        store.create_session(OWNER, new)
        store.append(OWNER, new.id, said[number : number + 1])
    return store


def _forker(store: SqliteStore, last: int) -> Call:
    names = count()
    point = ForkPoint(session=str(last))

    def fork() -> None:
        store.create_session(OWNER, NewSession(id=f"fork-{next(names)}", fork=point))

    return fork


def overlays_beside(world: World) -> Iterator[Row]:
    """Make an overlay beside many, and check messages among them out."""
    many, few = (_side_by_side(world, number) for number in (MANY_OVERLAYS, FEW_OVERLAYS))
    with many[0], few[0]:
        sides = (_coverer(*many), _coverer(*few))
        turns = take_turns(*sides, world.times(MADE))
        yield slower("one more overlay beside 800, against 200", turns, 1.5)
        moves = (_mover(*many), _mover(*few))
        turns = take_turns(*moves, world.times(CHECKOUTS))
        yield slower("checkout among 800 overlays, against 200", turns, 1.5)


def _side_by_side(world: World, number: int) -> tuple[SqliteStore, list[str]]:
    """Cover two messages of three, but for some at the end; return these ends and the store."""
    _, store = world.new_store(f"beside-{number}", "normal")
    fill(store, SESSION, messages(number * APART + 5 * MADE * APART))
    ids = ids_in(store)
    for at in range(0, number * APART, APART):
        cover_range(store, message_ref(ids[at]), message_ref(ids[at + 1]), at)
    return store, ids


def _coverer(store: SqliteStore, ids: list[str]) -> Call:
    """Return a call that covers the next messages after those that are covered."""
    covered = len(store.list_overlays(OWNER, SESSION))
    starts = count(covered * APART, APART)

    def cover() -> None:
        at = next(starts)
        ends = message_ref(ids[at]), message_ref(ids[at + 1])
        store.add_overlay(OWNER, SESSION, NewOverlay(first=ends[0], last=ends[1], summary="so"))

    return cover


def _mover(store: SqliteStore, ids: list[str]) -> Call:
    """Return a call that goes to one message after the other, all over the path."""
    steps = count(1)

    def move() -> None:
        store.checkout(OWNER, SESSION, ids[next(steps) * 997 % len(ids)])

    return move


def prepare_within_budget(world: World) -> Iterator[Row]:
    """Prepare a turn of a history without summaries that is far over its budget."""
    paths = [world.with_session_of(length) for length in (LONG_HISTORY, SHORT_HISTORY)]
    with open_store(paths[0]) as long, open_store(paths[1]) as short:
        sides = (_preparer(long), _preparer(short))
        turns = take_turns(*sides, world.times(PREPARED))
    yield slower("prepare within 5,000 tokens at 32,000 messages, against 2,000", turns, 1.3)


def _preparer(store: SqliteStore) -> Call:
    chat = SessionManager(store, owner=OWNER, new_id=new_id).session(SESSION)
    return lambda: chat.prepare(budget=BUDGET)


def usage_of_owner(world: World) -> Iterator[Row]:
    """Sum what all sessions of an owner cost."""
    with _used(world, MANY_SESSIONS) as many, _used(world, FEW_SESSIONS) as few:
        sides = [SessionManager(it, owner=OWNER, new_id=new_id).usage for it in (many, few)]
        turns = take_turns(*sides, world.times(USAGES))
    yield slower("usage of an owner over 16,000 sessions, against 1,000", turns, 1.5)


def _used(world: World, sessions: int) -> SqliteStore:
    _, store = world.new_store(f"used-{sessions}", "normal")
    for number in range(sessions):
        new = NewSession(id=str(number))
        store.create_session(OWNER, new)
        store.add_usage(OWNER, new.id, Usage(id="u", model=f"m{number % 3}", input_tokens=1))
    return store


def freezes(world: World) -> Iterator[Row]:
    """Add many blocks to a session, one by one, and freeze its prompt."""
    with _manager(world, MANY_BLOCKS) as many, _manager(world, FEW_BLOCKS) as few:
        sides = (_freezer(many, MANY_BLOCKS), _freezer(few, FEW_BLOCKS))
        turns = take_turns(*sides, world.times(FREEZES))
    # In proportion to the blocks, and a tenth for what a small prompt saves.
    in_proportion = MANY_BLOCKS / FEW_BLOCKS * 1.1
    yield slower("freeze of 800 blocks, against 50", turns, in_proportion)


def _manager(world: World, number: int) -> SessionManager:
    _, store = world.new_store(f"blocks-{number}", "normal")
    return SessionManager(store, owner=OWNER, new_id=new_id)


def _freezer(sessions: SessionManager, number: int) -> Call:
    """Return a call that freezes the prompt of a session that has none."""
    names = count()
    blocks = {f"b{at}": text(TEXT_BYTES, at) for at in range(number)}

    def freeze() -> None:
        chat = sessions.session(f"s{next(names)}")
        for label, default in blocks.items():
            chat.with_context(label, default=default)
        chat.system_prompt()

    return freeze
