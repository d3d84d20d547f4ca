"""Work on the store as a whole: health, owners, and the search for damage."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from ....errors import NotFoundError, StoreCorruptError
from ....model import ChangedOwners, Health, Problem
from ....rules.codec import decode_body, decode_json
from ....rules.wording import counted
from ....store.owners import next_owners
from ..errors import BehindError
from ..fold import fold
from ..log_documents import LogDocument, LogEntry, key_of, lookups_of, record_key
from ..record import decode_record
from ..rows import LogRow
from ..state import LogState, MessagePlace, decode_state
from ..view import LogView
from ..work import WritePage
from .descendants import segments_of, whole_segment
from .documents import values_of
from .history import covers_of
from .logs import AsyncLogSubject, again
from .rows import rows_in_all
from .shelves import shelf_states
from .sweep import finish_deletions

AT_ONCE = 500


class AsyncLogAdmin(AsyncLogSubject):
    """Work on the store as a whole."""

    async def health(self) -> Health:
        return await self._logs.driver.health()

    async def schema_version(self) -> int:
        return await self._logs.driver.schema_version()

    async def owners(self) -> list[str]:
        """List the owners that have a session or a document."""
        owners: set[str] = set()
        for entry in await self._entries():
            if entry.owner not in owners and await self._has_something(entry):
                owners.add(entry.owner)
        return sorted(owners)

    async def changed_owners(self, after: str, limit: int) -> ChangedOwners:
        """List owners, one after the other."""
        return next_owners(await self.owners(), after, limit)

    async def _has_something(self, entry: LogEntry) -> bool:
        if not entry.session:
            return any(it.documents for it in await shelf_states(self._logs, entry.owner))
        try:
            return (await self._loaded(entry)).is_alive
        except StoreCorruptError:
            return True

    async def _loaded(self, entry: LogEntry) -> LogState:
        [state] = await self._logs.catch_up([await self._logs.load_entry(entry)])
        return state

    async def _entries(self) -> list[LogEntry]:
        return [it for it in await self._logs.entries(None) if not it.ended]

    async def check(self) -> list[Problem]:
        """Look for damage, and for what does not add up."""
        problems: list[Problem] = []
        for entry in await self._entries():
            where = f"session {entry.session!r} of {entry.owner!r}"
            if not entry.session:
                problems += await self._document_faults(entry.owner)
                continue
            try:
                state = await self._loaded(entry)
                if state.is_alive:
                    problems += await self._logs.read_at(state, self._faults)
            except NotFoundError:
                continue  # it was deleted meanwhile
            except StoreCorruptError as error:
                problems.append(Problem(kind="session", where=where, what=str(error)))
        return problems

    async def _document_faults(self, owner: str) -> list[Problem]:
        """Look whether the values of an owner's documents are there."""

        async def attempt() -> None:
            for state in await shelf_states(self._logs, owner):
                places = [(state, key) for key in state.documents]
                for start in range(0, len(places), AT_ONCE):
                    await values_of(self._logs, places[start : start + AT_ONCE])

        try:
            await again(attempt)
        except StoreCorruptError as error:
            return [Problem(kind="documents", where=f"owner {owner!r}", what=str(error))]
        return []

    async def _faults(self, view: LogView) -> list[Problem]:
        state = view.own
        where = f"session {state.session!r} of {state.owner!r}"
        rows = await self._rows(view)
        await covers_of(self._logs, state, state.overlays)
        await values_of(self._logs, [(state, key) for key in state.documents])
        folded = await self._folded(state)
        problems = [it for row in rows for it in _body_faults(row)]
        problems += [
            Problem(kind="id", where=f"message {id!r}", what="it cannot be found by its id")
            for id in await self._wrong_lookups(state, rows)
        ]
        if folded is not None and _figures(folded) != _figures(state):
            what = "its state is not what its records add up to"
            problems.append(Problem(kind="state", where=where, what=what))
        live = sum(row.body is not None for row in rows)
        if live != state.messages:
            what = f"it counts {counted(state.messages, 'message')} and has {live}"
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
                    folded = fold(folded, record.work, record.also)
                elif record.state is not None:
                    folded = decode_state(record.state, stored.id)
        return folded

    async def _wrong_lookups(
        self, state: LogState, rows: Sequence[LogRow]
    ) -> dict[str, LogDocument]:
        """Return the look-ups that should be there and are not, by the ids of messages.

        Those of messages since the page are still to come.
        """
        spots = {it.id: MessagePlace(it.place, it.n) for it in rows if it.id not in state.recent}
        right = lookups_of(replace(state, recent=spots, recent_usage={}))
        keys = [key_of(it) for it in right]
        found: list[LogDocument | None] = []
        for start in range(0, len(keys), AT_ONCE):
            found += await self._logs.driver.get(keys[start : start + AT_ONCE])
        return {
            id: it
            for id, it, stored in zip(spots, right, found, strict=True)
            if stored is None or stored.data != it.data
        }

    async def repair(self) -> None:
        """Make look-ups anew, and write a state down again that does not add up."""
        with suppress(StoreCorruptError):  # damage stays, and is told by a check
            await finish_deletions(self._logs)
        for entry in await self._entries():
            state = None
            with suppress(StoreCorruptError):
                state = await self._loaded(entry) if entry.session else None
            if state is not None and state.is_alive:
                await self._repair(state)

    async def _repair(self, state: LogState) -> None:
        view = await self._logs.view(state)
        try:
            rows = await self._rows(view)
            folded = await self._folded(state)
        except (StoreCorruptError, BehindError):
            return
        wrong = list((await self._wrong_lookups(state, rows)).values())
        await self._logs.driver.delete([key_of(it) for it in wrong])
        await self._logs.driver.create_all(wrong)
        if folded is not None and _figures(folded) != _figures(state):
            self._logs.cache.forget(folded.log)
            await self._logs.commit(folded, WritePage())


def _figures(state: LogState) -> LogState:
    return replace(
        state,
        page=0,
        page_bytes=0,
        recent={},
        recent_usage={},
        litter=[],
        foreign={},
        foreign_fields=[],
        tail=(),
    )


def _body_faults(row: LogRow) -> list[Problem]:
    try:
        if row.body is not None:
            decode_body(row.body, row.id)
        if row.data is not None:
            decode_json(row.data, f"the data at {row.id!r}")
    except StoreCorruptError as error:
        return [Problem(kind="message", where=row.id, what=str(error))]
    return []
