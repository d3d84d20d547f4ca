"""The sessions that stand on a log: its forks, their forks, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreCorruptError
from ....rules.tree import Place
from ..entry import entry_of, void_entry
from ..place import log_of
from ..state import Laid, Pinned, State
from ..stored import Key, Kind
from ..view import View
from .desk import AsyncDesk


async def descendants(desk: AsyncDesk, state: State, *, is_last: bool = False) -> list[State]:
    """Give the sessions that are alive and stand on a log, or on one that stands on it.

    With `is_last` there will be no others: forks that were begun anywhere below are refused.
    """
    found: dict[str, State] = {}
    seen: set[str] = set()
    waiting = list(state.pins)
    while waiting:
        some = _with_remembered(desk, waiting)
        if is_last:
            await _refuse_unborn(desk, some)
        born = await _born(desk, some)
        states = {pin.log: await desk.load(state.tree, pin.log) for pin in some}
        begun = [it for it in states.values() if it is not None]
        if any(states[log] is None for log in born):
            raise StoreCorruptError(f"a session that stands on log {state.log} has no log")
        current = await desk.catch_up(begun) if begun else []
        found.update({it.log: it for it in current if it.log in born or not it.is_alive})
        seen.update(pin.log for pin in some)
        waiting = [pin for it in current for pin in it.pins if pin.log not in seen]
    return [it for it in found.values() if it.is_alive]


def _with_remembered(desk: AsyncDesk, pins: Sequence[Pinned]) -> list[Pinned]:
    """Add the forks of forks that are remembered, so that a chain is not read link by link."""
    found: dict[str, Pinned] = {}
    left = list(pins)
    while left:
        pin = left.pop()
        if pin.log not in found:
            found[pin.log] = pin
            known = desk.cache.find(pin.log)
            left += known.pins if known is not None else []
    return list(found.values())


async def _born(desk: AsyncDesk, pins: Sequence[Pinned]) -> set[str]:
    """Give the logs of those forks that were begun and are sessions."""
    keys = [Key(Kind.ENTRY, pin.shard, pin.entry) for pin in pins]
    entries = [None if it is None else entry_of(it) for it in await desk.log.get(keys)]
    named = {entry.log for entry in entries if entry is not None}
    return {pin.log for pin in pins if pin.log in named}


async def _refuse_unborn(desk: AsyncDesk, pins: Sequence[Pinned]) -> None:
    """Keep forks that were begun and are not there from coming to stand on what goes."""
    keys = [Key(Kind.ENTRY, pin.shard, pin.entry) for pin in pins]
    for pin, stored in zip(pins, await desk.log.get(keys) if keys else [], strict=True):
        if stored is None:
            await desk.log.create(void_entry(pin.shard, pin.entry))


async def quoting_overlays(desk: AsyncDesk, view: View, places: Sequence[Place]) -> list[str]:
    """Give the overlays, in force anywhere, that cover one of the positions; oldest first."""
    homes = {log_of(place.segment) for place in places}
    sessions = {view.own.log: view.own}
    for log in homes:
        home = view.states[log]
        sessions.update({it.log: it for it in await descendants(desk, home)})
        if home.is_alive:
            sessions.setdefault(home.log, home)
    laid: dict[int, str] = {}
    covered = [it for it in sessions.values() if it.overlays and it.log != view.own.log]
    for seen_by in [view, *await desk.views(covered)]:
        laid.update(_covering(seen_by, places))
    return [id for _, id in sorted(laid.items())]


def _covering(view: View, places: Sequence[Place]) -> dict[int, str]:
    return {
        laid.stamp: laid.id
        for laid in view.own.overlays
        if any(_is_under(view, place, laid) for place in places)
    }


def _is_under(view: View, place: Place, laid: Laid) -> bool:
    return laid.first.depth <= place.depth and view.on_path(place, laid.last)


def segments_of(state: State) -> range:
    """Give the numbers of the segments that are a session's now."""
    return range(state.retired + 1, len(state.segments) + 1)
