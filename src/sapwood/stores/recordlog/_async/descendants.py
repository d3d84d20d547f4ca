"""The sessions that stand on a log: its forks, their forks, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreCorruptError
from ....rules.tree import Place, Span
from ..log_documents import LogKey, LogKind, document_at, entry_of
from ..state import BegunFork, LogState
from ..view import LogView
from ..work import log_of
from .logs import AsyncLogs


async def descendants(logs: AsyncLogs, state: LogState, *, is_last: bool = False) -> list[LogState]:
    """Return the sessions that are alive and stand on a log, or on one that stands on it.

    With `is_last` there will be no others: forks that were begun anywhere below are refused.
    """
    found: dict[str, LogState] = {}
    seen: set[str] = set()
    waiting = list(state.begun_forks)
    while waiting:
        some = _with_remembered(logs, waiting)
        if is_last:
            await _refuse_unborn(logs, some)
        born = await _born(logs, some)
        states = {fork.log: await logs.load(state.tree, fork.log) for fork in some}
        begun = [it for it in states.values() if it is not None]
        if any(states[log] is None for log in born):
            raise StoreCorruptError(f"a session that stands on log {state.log} has no log")
        current = await logs.catch_up(begun) if begun else []
        found.update({it.log: it for it in current if it.log in born or not it.is_alive})
        seen.update(fork.log for fork in some)
        waiting = [fork for it in current for fork in it.begun_forks if fork.log not in seen]
    return [it for it in found.values() if it.is_alive]


def _with_remembered(logs: AsyncLogs, forks: Sequence[BegunFork]) -> list[BegunFork]:
    """Add the forks of forks that are remembered, so that a chain is not read link by link."""
    found: dict[str, BegunFork] = {}
    left = list(forks)
    while left:
        fork = left.pop()
        if fork.log not in found:
            found[fork.log] = fork
            known = logs.cache.find(fork.log)
            left += known.begun_forks if known is not None else []
    return list(found.values())


async def _born(logs: AsyncLogs, forks: Sequence[BegunFork]) -> set[str]:
    """Return the logs of those forks that were begun and are sessions."""
    stored = await logs.driver.get([_entry_key(fork) for fork in forks])
    named = {entry.log for it in stored if it is not None and (entry := entry_of(it)) is not None}
    return {fork.log for fork in forks if fork.log in named}


async def _refuse_unborn(logs: AsyncLogs, forks: Sequence[BegunFork]) -> None:
    """Keep forks that were begun and are not there from coming to stand on what goes."""
    keys = [_entry_key(fork) for fork in forks]
    for key, stored in zip(keys, await logs.driver.get(keys), strict=True):
        if stored is None:
            # An entry without content: nobody can make a session of it.
            await logs.driver.create(document_at(key, b""))


def _entry_key(fork: BegunFork) -> LogKey:
    return LogKey(LogKind.ENTRY, fork.shard, fork.entry)


async def quoting_overlays(logs: AsyncLogs, view: LogView, places: Sequence[Place]) -> list[str]:
    """Return the overlays, in force anywhere, that cover one of the positions; oldest first."""
    homes = {log_of(place.segment) for place in places}
    sessions = {view.own.log: view.own}
    for log in homes:
        home = view.states[log]
        sessions.update({it.log: it for it in await descendants(logs, home)})
        if home.is_alive:
            sessions.setdefault(home.log, home)
    covered = [it for it in sessions.values() if it.overlays and it.log != view.own.log]
    quoting = {
        laid.stamp: laid.id
        for seen_by in (view, *await logs.views(covered))
        for laid in seen_by.own.overlays
        if any(seen_by.covers(laid, place) for place in places)
    }
    return [id for _, id in sorted(quoting.items())]


def segments_of(state: LogState) -> range:
    """Return the numbers of the segments that are a session's now."""
    return range(state.retired + 1, len(state.segments) + 1)


def whole_segment(state: LogState, number: int) -> Span:
    """Return all of a segment."""
    row = state.segments[number - 1]
    return Span(state.own(number), row.first, row.last)
