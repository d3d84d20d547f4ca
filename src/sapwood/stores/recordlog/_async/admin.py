"""Work on the store as a whole: health, owners, and the search for damage."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from ....errors import NotFoundError, StoreCorruptError
from ....model import Health, Problem
from ....rules.codec import decode_body
from ..entry import LogEntry, entry_of
from ..errors import BehindError
from ..fold import fold
from ..log_documents import key_of, record_key
from ..lookup import lookups_of
from ..record import decode_record
from ..rows import LogRow
from ..state import LogState, MessagePlace, decode_state
from ..view import LogView
from ..work import WritePage
from .descendants import segments_of
from .documents import DOCUMENTS, owner_state, values_of
from .history import covers_of
from .logs import AsyncLogs
from .maintenance import settle
from .rows import rows_in_all
from .search import whole_segment

AT_ONCE = 500


class AsyncLogAdmin:
    """Work on the store as a whole."""

    def __init__(self, logs: AsyncLogs) -> None:
        self._logs = logs

    async def health(self) -> Health:
        """Return which store this is."""
        return await self._logs.driver.health()

    async def schema_version(self) -> int:
        """Return the schema's version."""
        return await self._logs.driver.schema_version()

    async def owners(self) -> list[str]:
        """List the owners that have a session or a document."""
        owners: set[str] = set()
        for entry in await self._entries():
            if entry.owner in owners:
                continue
            if entry.session:
                has_something = await self._is_there(entry)
            else:
                shelf = await owner_state(self._logs, entry.owner, DOCUMENTS)
                has_something = bool(shelf.documents)
            if has_something:
                owners.add(entry.owner)
        return sorted(owners)

    async def _is_there(self, entry: LogEntry) -> bool:
        try:
            return (await self._loaded(entry)).is_alive
        except StoreCorruptError:
            return True

    async def _loaded(self, entry: LogEntry) -> LogState:
        [state] = await self._logs.catch_up([await self._logs.load_entry(entry)])
        return state

    async def _entries(self) -> list[LogEntry]:
        entries = [entry_of(stored) for stored in await self._logs.driver.entries(None)]
        return [it for it in entries if it is not None and not it.ended]

    async def check(self) -> list[Problem]:
        """Look for damage, and for what does not add up."""
        problems: list[Problem] = []
        for entry in await self._entries():
            where = f"session {entry.session!r} of {entry.owner!r}"
            try:
                state = await self._loaded(entry) if entry.session else None
                if state is not None and state.is_alive:
                    problems += await self._logs.read_at(state, self._faults)
            except NotFoundError:
                continue  # it was deleted meanwhile
            except StoreCorruptError as error:
                problems.append(Problem(kind="session", where=where, what=str(error)))
        return problems

    async def _sessions(self) -> list[LogState]:
        """Return the sessions that are alive, but for those that cannot be read at all."""
        states: list[LogState] = []
        for entry in await self._entries():
            if entry.session:
                with suppress(StoreCorruptError):
                    states.append(await self._loaded(entry))
        return [it for it in states if it.is_alive]

    async def _faults(self, view: LogView) -> list[Problem]:
        state = view.own
        where = f"session {state.session!r} of {state.owner!r}"
        rows = await self._rows(view)
        await covers_of(self._logs, state, state.overlays)
        await values_of(self._logs, state, list(state.documents))
        folded = await self._folded(state)
        problems = [it for row in rows for it in _body_faults(row)]
        problems += await self._lookup_faults(state, rows)
        if folded is not None and _figures(folded) != _figures(state):
            what = "its state is not what its records add up to"
            problems.append(Problem(kind="state", where=where, what=what))
        live = sum(row.body is not None for row in rows)
        if live != state.messages:
            what = f"it counts {state.messages} messages and has {live}"
            problems.append(Problem(kind="messages", where=where, what=what))
        if problems and await self._logs.are_over([state]):
            raise BehindError
        return problems

    async def _rows(self, view: LogView) -> list[LogRow]:
        spans = [whole_segment(view.own, number) for number in segments_of(view.own)]
        return await rows_in_all(self._logs, view, spans) if spans else []

    async def _folded(self, state: LogState) -> LogState | None:
        """Add a log up from its first record; None when some were emptied since."""
        folded: LogState | None = None
        for start in range(0, state.n + 1, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, state.n + 1))
            keys = [record_key(state.tree, state.log, n) for n in numbers]
            for n, stored in zip(numbers, await self._logs.driver.get(keys), strict=True):
                if stored is None:
                    raise StoreCorruptError(f"record {n} is missing")
                if not stored.data:
                    return None
                record = decode_record(stored.data, stored.id)
                if folded is not None:
                    folded = fold(folded, record.work)
                elif record.state is not None:
                    folded = decode_state(record.state, stored.id)
        return folded

    async def _lookup_faults(self, state: LogState, rows: Sequence[LogRow]) -> list[Problem]:
        wanted = lookups_of(_found_by(state, rows))
        ids = [row.id for row in rows if row.id not in state.recent]
        faults = []
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            found = await self._logs.driver.get([key_of(it) for it in some])
            for id, right, stored in zip(ids[start:], some, found, strict=False):
                if stored is None or stored.data != right.data:
                    what = "it cannot be found by its id"
                    faults.append(Problem(kind="id", where=f"message {id!r}", what=what))
        return faults

    async def repair(self) -> None:
        """Make look-ups anew, and write a state down again that does not add up."""
        with suppress(StoreCorruptError):  # damage stays, and is told by a check
            await settle(self._logs)
        for state in await self._sessions():
            view = await self._logs.view(state)
            try:
                rows = await self._rows(view)
                folded = await self._folded(state)
            except (StoreCorruptError, BehindError):
                continue
            right = lookups_of(_found_by(state, rows))
            found = await self._logs.driver.get([key_of(it) for it in right]) if right else []
            wrong = [a for a, b in zip(right, found, strict=True) if b is None or a.data != b.data]
            if wrong:
                await self._logs.driver.delete([key_of(it) for it in wrong])
                await self._logs.driver.create_all(wrong)
            if folded is not None and _figures(folded) != _figures(state):
                await self._write_down(folded)

    async def _write_down(self, folded: LogState) -> None:
        self._logs.cache.forget(folded.log)
        await self._logs.commit(folded, WritePage())


def _found_by(state: LogState, rows: Sequence[LogRow]) -> LogState:
    """Return a state of which all look-ups are still to be made, but those that are to come."""
    spots = {row.id: MessagePlace(row.place, row.n) for row in rows if row.id not in state.recent}
    return replace(state, recent=spots, recent_usage={})


def _figures(state: LogState) -> LogState:
    return replace(
        state, page=0, page_bytes=0, recent={}, recent_usage={}, litter=[], foreign={}, tail=()
    )


def _body_faults(row: LogRow) -> list[Problem]:
    try:
        if row.body is not None:
            decode_body(row.body, row.id)
    except StoreCorruptError as error:
        return [Problem(kind="message", where=row.id, what=str(error))]
    return []
