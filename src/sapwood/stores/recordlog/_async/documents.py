"""Work on documents. A version is the number of the record that put it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ....calls import AsyncAnswer
from ....errors import StoreCorruptError
from ....model import Document
from ....rules.key_range import KeyRange
from ...base.extras import DocumentWrite, Extras
from ...base.refusals import renewed_until
from ..documents import document_of, document_work, is_expired, refuse_stale
from ..errors import BehindError
from ..extras import extra_works, refuse_lost, versions_of
from ..log_documents import LogEntry, LogKey, record_key, value_key
from ..record import value_in
from ..state import LogState
from ..work import DropDocument, RenewDocument, combined
from .logs import AsyncLogs, AsyncLogSubject, Decision, again
from .shelves import change_document, shelf_states, state_with

T = TypeVar("T")


class AsyncLogDocuments(AsyncLogSubject):
    """Work on documents. Expired ones stay stored: a fence may still name their version."""

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""

        async def attempt() -> Document | None:
            if session is None:
                state = await state_with(self._logs, owner, key)
            else:
                state = await self._logs.current(owner, session)
            kept, now = state.documents.get(key), await self._logs.now()
            if kept is None or is_expired(kept, now):
                return None
            [value] = await values_of(self._logs, [(state, key)])
            return document_of(key, kept, value)

        return await again(attempt)

    async def list_range(
        self, owner: str, session: str | None, asked: KeyRange, values: bool
    ) -> list[Document]:
        """List documents; those of an owner who has many are looked for on all shelves."""

        async def attempt() -> list[Document]:
            states = await self._states(owner, session)
            now = await self._logs.now()
            places = {
                key: state
                for state in states
                for key, kept in state.documents.items()
                if not is_expired(kept, now)
            }
            live = asked.of(places)
            found = [b""] * len(live)
            if values:
                found = await values_of(self._logs, [(places[key], key) for key in live])
            kept = [places[key].documents[key] for key in live]
            return [document_of(*it) for it in zip(live, kept, found, strict=True)]

        return await again(attempt)

    async def _states(self, owner: str, session: str | None) -> list[LogState]:
        if session is None:
            return await shelf_states(self._logs, owner)
        return [await self._logs.current(owner, session)]

    async def delete_prefix(self, owner: str, session: str | None, prefix: str) -> int:
        """Delete documents by the beginning of their keys; of an owner, shelf by shelf."""

        async def decide(state: LogState) -> Decision[int]:
            now, keys = await self._logs.now(), KeyRange(prefix).of(state.documents)
            lasting = sum(not is_expired(state.documents[key], now) for key in keys)
            return combined([DropDocument(key) for key in keys]), lasting

        if session is not None:
            _, count = await self._logs.change(owner, session, decide)
            return count
        count = 0
        for state in await shelf_states(self._logs, owner):
            if KeyRange(prefix).of(state.documents):
                _, some = await self._logs.change_log(state.tree, state.log, decide)
                count += some
        return count

    async def put(self, owner: str, session: str | None, new: DocumentWrite) -> Document:
        assert new.value is not None

        async def decide(state: LogState) -> Decision[None]:
            work = document_work(state, new, await self._logs.now())
            if session is None and not state.documents:
                # The first one sees to it that the owner is listed.
                await self._logs.driver.create_all([LogEntry(owner).stored()])
            return work, None

        state, _ = await self._change(owner, session, new.key, decide, is_put=True)
        return document_of(new.key, state.documents[new.key], new.value)

    async def put_all(self, owner: str, session: str, extras: Extras) -> dict[str, int]:
        """Put and delete some of a session's documents."""

        async def decide(state: LogState) -> Decision[None]:
            refuse_lost(state, extras.fences)
            return combined(extra_works(state, extras, await self._logs.now())), None

        state, _ = await self._logs.change(owner, session, decide)
        return versions_of(state, extras.documents)

    async def renew(
        self, owner: str, session: str | None, key: str, expected_version: int, expires_in_us: int
    ) -> Document:
        """Let a document expire later; its version stays."""

        async def decide(state: LogState) -> Decision[bytes]:
            now = await self._logs.now()
            refuse_stale(state, key, expected_version, now)
            [value] = await values_of(self._logs, [(state, key)])
            until = renewed_until(key, state.documents[key].expires_us, now, expires_in_us)
            return RenewDocument(key, until), value

        state, value = await self._change(owner, session, key, decide)
        return document_of(key, state.documents[key], value)

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; return whether it was there and not expired."""

        async def decide(state: LogState) -> Decision[bool]:
            now, kept = await self._logs.now(), state.documents.get(key)
            refuse_stale(state, key, expected_version, now)
            if kept is None:
                return None, False
            return DropDocument(key), not is_expired(kept, now)

        _, was_there = await self._change(owner, session, key, decide)
        return was_there

    async def _change(
        self,
        owner: str,
        session: str | None,
        key: str,
        decide: Callable[[LogState], AsyncAnswer[Decision[T]]],
        *,
        is_put: bool = False,
    ) -> tuple[LogState, T]:
        if session is None:
            return await change_document(self._logs, owner, key, decide, is_put=is_put)
        return await self._logs.change(owner, session, decide)


async def values_of(logs: AsyncLogs, places: Sequence[tuple[LogState, str]]) -> list[bytes]:
    """Read the values of documents of states; begin again when one was replaced since."""
    named = [_value_key(state, key) for state, key in places]
    found = await logs.driver.get(named) if named else []
    values: list[bytes] = []
    for (state, key), stored in zip(places, found, strict=True):
        if stored is None:
            raise StoreCorruptError(f"the value of document {key!r} is missing")
        if state.documents[key].n < 0:
            values.append(stored.data)
            continue
        value = value_in(stored, key)
        if value is None:
            raise BehindError
        values.append(value)
    return values


def _value_key(state: LogState, key: str) -> LogKey:
    n = state.documents[key].n
    if n < 0:
        return value_key(state.tree, state.log, key, n)
    return record_key(state.tree, state.log, n)
