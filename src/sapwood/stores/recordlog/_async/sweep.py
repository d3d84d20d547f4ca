"""What a deletion leaves to be done: records are emptied, unless somebody still stands on them.

Their names stay taken, so that a writer who decided by an old state is refused for ever.
`finish_deletions` brings all logs to where nothing is left to be done beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from ....errors import StoreCorruptError
from ..log_documents import (
    LogDocument,
    LogEntry,
    LogKey,
    entry_of,
    id_key,
    key_of,
    owner_log,
    record_key,
    usage_key,
    value_key,
)
from ..record import Needed, swept, work_of
from ..state import LogState
from ..work import AddUsage, Append, Clear, NoteSwept, Retire, WritePage, log_of, number_of
from .descendants import descendants
from .feed import FEED, trim
from .leftovers import tidy_some
from .logs import AsyncLogs, Decision
from .shelves import shelf_logs

AT_ONCE = 200


async def sweep(logs: AsyncLogs, state: LogState) -> LogState:
    """Empty what is retired in a log, and in those that only it stood on."""
    await _sweep_log(logs, state)
    loaded = [await logs.load(state.tree, log) for log, _ in state.homes]
    above = [it for it in loaded if it is not None]
    for home in await logs.catch_up(above) if above else ():
        if home.marks:
            await _sweep_log(logs, home)
    return await _note_swept(logs, state) if state.is_unswept else state


async def _sweep_log(logs: AsyncLogs, state: LogState) -> None:
    needed = await _needed(logs, state)
    for start in range(0, state.page, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, state.page))
        keys = [record_key(state.tree, state.log, n) for n in numbers]
        found = [it for it in await logs.driver.get(keys) if it is not None and it.data]
        await _sweep_some(logs, state, found, needed)
    if not state.is_alive:
        await logs.driver.delete([value_key(state.tree, state.log, *it) for it in state.copies])


async def _note_swept(logs: AsyncLogs, swept: LogState) -> LogState:
    """Note that nothing is left to be swept, unless more was retired since."""

    async def decide(state: LogState) -> Decision[None]:
        is_done = state.is_unswept and state.marks == swept.marks
        return NoteSwept() if is_done else None, None

    state, _ = await logs.change_log(swept.tree, swept.log, decide)
    if not state.is_alive and state.page > swept.page:
        # It goes on without the state that the deletion itself left.
        [retired] = await logs.driver.get([record_key(state.tree, state.log, swept.page)])
        if retired is not None:
            await _sweep_some(logs, state, [retired], Needed({}, set()))
    return state


async def _needed(logs: AsyncLogs, state: LogState) -> Needed:
    """Return what sessions that are alive stand on in a log, or have in force of it."""
    needed = Needed({}, set())
    for view in await logs.views(await descendants(logs, state, is_last=True)):
        other = view.own
        for span in view.spans(other.fork):
            if log_of(span.segment) == state.log:
                number = number_of(span.segment)
                needed.depths[number] = max(needed.depths.get(number, 0), span.last)
        needed.records |= {it.n for it in other.overlays if it.log == state.log}
    return needed


async def _sweep_some(
    logs: AsyncLogs, state: LogState, records: Sequence[LogDocument], needed: Needed
) -> None:
    fates = [(stored, _fate(stored, state, needed)) for stored in records]
    empty = [stored for stored, fate in fates if fate is False]
    cut = [fate for _, fate in fates if isinstance(fate, LogDocument)]
    await logs.driver.delete([key for it in (*empty, *cut) for key in _lookups(it, state, needed)])
    await logs.driver.put(cut)
    await logs.driver.blank([key_of(it) for it in empty])
    said = [it.n for it in cut if not isinstance(work_of(it), Clear | Retire)]
    if said:
        # Of one that was tidied meanwhile, what was said is back.
        [current] = await logs.catch_up([state])
        await tidy_some(logs, current, said)


def _fate(stored: LogDocument, state: LogState, needed: Needed) -> LogDocument | bool:
    try:
        return swept(stored, state, needed)
    except StoreCorruptError:
        # What it was nobody knows: it goes when nobody can stand on it.
        return state.is_alive or bool(needed.depths or needed.records)


def _lookups(stored: LogDocument, state: LogState, needed: Needed) -> list[LogKey]:
    """Return the look-ups of messages that nobody stands on, or of a usage."""
    with suppress(StoreCorruptError):
        work = work_of(stored)
        if isinstance(work, AddUsage) and not state.is_alive:
            return [usage_key(state.tree, state.log, work.id)]
        if isinstance(work, Append):
            epoch, last = state.epoch_of(work.number), needed.depths.get(work.number, 0)
            return [
                id_key(state.tree, state.log, epoch, said.id)
                for depth, said in enumerate(work.messages, work.first)
                if depth > last
            ]
    return []


async def end_entry(logs: AsyncLogs, state: LogState) -> None:
    """Note in its entry that a session is gone, so that nobody has to look at its log."""
    entry = LogEntry(state.owner, state.session, state.k, state.tree, state.log, state.n + 1)
    await logs.driver.put([entry.stored()])


async def forget_owner(logs: AsyncLogs, owner: str) -> None:
    """Empty the entries of an owner of whom nothing is left, but for what was made since."""
    gone: list[LogKey] = []
    for entry in await logs.entries(owner):
        if not entry.session:
            continue
        if not entry.ended:
            [state] = await logs.catch_up([await logs.load_entry(entry)])
            if state.is_alive:
                continue
            await sweep(logs, state)
        gone.append(entry.key)
    await logs.driver.blank(gone)
    await logs.driver.delete([LogEntry(owner).key])


async def finish_deletions(logs: AsyncLogs) -> None:
    """Finish what units of work left to be done, for all owners; then tell of damage."""
    damage: StoreCorruptError | None = None
    for stored in await logs.driver.entries(None):
        try:
            await _settle_entry(logs, entry_of(stored))
        except StoreCorruptError as error:
            damage = damage or error
    if damage is not None:
        raise damage


async def _settle_entry(logs: AsyncLogs, entry: LogEntry | None) -> None:
    if entry is None or entry.ended:
        return
    if not entry.session:
        for log in (*await shelf_logs(logs, entry.owner), owner_log(entry.owner, FEED)):
            await _settle_log(logs, log, log)
        await trim(logs, entry.owner)
        return
    state = await _settle_log(logs, entry.tree, entry.log)
    if state.is_unswept:
        state = await sweep(logs, state)
    if not (state.is_alive or state.is_unswept):
        await logs.driver.put([replace(entry, ended=state.n).stored()])


async def _settle_log(logs: AsyncLogs, tree: str, log: str) -> LogState:
    """Write a page where something is left to be done; that is done before the page is written."""

    async def decide(state: LogState) -> Decision[None]:
        return None if state.is_settled else WritePage(), None

    state, _ = await logs.change_log(tree, log, decide)
    return state
