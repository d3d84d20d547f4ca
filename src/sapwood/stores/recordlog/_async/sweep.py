"""What a deletion leaves to be done: records are emptied, unless somebody still stands on them.

Their names stay taken, so that a writer who decided by an old state is refused for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ....errors import StoreCorruptError
from ..entry import LogEntry, entry_of, stored_entry
from ..log_documents import LogDocument, LogKey, id_key, key_of, record_key, usage_key, value_key
from ..place import log_of, number_of
from ..record import decode_record
from ..redaction import Needed, swept
from ..state import LogState
from ..work import AddUsage, Append, NoteSwept
from .descendants import descendants
from .logs import AsyncLogs, Decision

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
    if not state.is_alive and state.copies:
        copies = [value_key(state.tree, state.log, key, n) for key, n in state.copies]
        await logs.driver.delete(copies)


async def _note_swept(logs: AsyncLogs, swept: LogState) -> LogState:
    """Note that nothing is left to be swept, unless more was retired since."""

    async def decide(state: LogState) -> Decision:
        is_done = state.is_unswept and state.marks == swept.marks
        return Decision(NoteSwept() if is_done else None)

    state = (await logs.change_log(swept.tree, swept.log, decide)).state
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
    empty: list[LogDocument] = []
    cut: list[LogDocument] = []
    for stored in records:
        fate = _fate(stored, state, needed)
        if fate is False:
            empty.append(stored)
        elif isinstance(fate, LogDocument):
            cut.append(fate)
    lookups = [key for it in (*empty, *cut) for key in _lookups(it, state, needed)]
    if lookups:
        await logs.driver.delete(lookups)
    if cut:
        await logs.driver.put(cut)
    if empty:
        await logs.driver.blank([key_of(it) for it in empty])


def _fate(stored: LogDocument, state: LogState, needed: Needed) -> LogDocument | bool:
    try:
        return swept(stored, state, needed)
    except StoreCorruptError:
        # What it was nobody knows: it goes when nobody can stand on it.
        return state.is_alive or bool(needed.depths or needed.records)


def _lookups(stored: LogDocument, state: LogState, needed: Needed) -> list[LogKey]:
    """Return the look-ups of messages that nobody stands on, or of a usage."""
    with suppress(StoreCorruptError):
        work = decode_record(stored.data, stored.id).work
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
    await logs.driver.put([stored_entry(entry)])


async def forget_owner(logs: AsyncLogs, owner: str) -> None:
    """Empty the entries of an owner of whom nothing is left, but for what was made since."""
    gone: list[LogKey] = []
    for stored in await logs.driver.entries(owner):
        entry = entry_of(stored)
        if entry is None or not entry.session:
            continue
        if not entry.ended:
            [state] = await logs.catch_up([await logs.load_entry(entry)])
            if state.is_alive:
                continue
            await sweep(logs, state)
        gone.append(entry.key)
    if gone:
        await logs.driver.blank(gone)
    await logs.driver.delete([LogEntry(owner).key])
