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

T = TypeVar("T")

DOCUMENTS = "documents"


class AsyncLogDocuments(AsyncLogSubject):
    """Work on documents. Expired ones stay stored: a fence may still name their version."""

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""
        found = await self._read(owner, session, lambda kept: [key] if key in kept else [])
        return found[0] if found else None

    async def list_range(
        self, owner: str, session: str | None, asked: KeyRange, values: bool
    ) -> list[Document]:
        return await self._read(owner, session, asked.of, values)

    async def delete_prefix(self, owner: str, session: str | None, prefix: str) -> int:
        """Delete documents by the beginning of their keys."""

        async def decide(state: LogState) -> Decision[int]:
            now, keys = await self._logs.now(), KeyRange(prefix).of(state.documents)
            lasting = sum(not is_expired(state.documents[key], now) for key in keys)
            return combined([DropDocument(key) for key in keys]), lasting

        _, count = await self._change(owner, session, decide)
        return count

    async def _read(
        self,
        owner: str,
        session: str | None,
        wanted: Callable[[list[str]], list[str]],
        with_values: bool = True,
    ) -> list[Document]:
        async def attempt() -> list[Document]:
            if session is None:
                state = await self._logs.owner_state(owner, DOCUMENTS)
            else:
                state = await self._logs.current(owner, session)
            now = await self._logs.now()
            kept = state.documents
            live = wanted([key for key, it in kept.items() if not is_expired(it, now)])
            values = [b""] * len(live)
            if with_values:
                values = await values_of(self._logs, state, live)
            return [document_of(key, kept[key], it) for key, it in zip(live, values, strict=True)]

        return await again(attempt)

    async def put(self, owner: str, session: str | None, new: DocumentWrite) -> Document:
        assert new.value is not None

        async def decide(state: LogState) -> Decision[None]:
            work = document_work(state, new, await self._logs.now())
            if session is None and not state.documents:
                # The first one sees to it that the owner is listed.
                await self._logs.driver.create_all([LogEntry(owner).stored()])
            return work, None

        state, _ = await self._change(owner, session, decide)
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
            [value] = await values_of(self._logs, state, [key])
            until = renewed_until(key, state.documents[key].expires_us, now, expires_in_us)
            return RenewDocument(key, until), value

        state, value = await self._change(owner, session, decide)
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

        _, was_there = await self._change(owner, session, decide)
        return was_there

    async def _change(
        self,
        owner: str,
        session: str | None,
        decide: Callable[[LogState], AsyncAnswer[Decision[T]]],
    ) -> tuple[LogState, T]:
        if session is None:
            return await self._logs.change_owner(owner, DOCUMENTS, decide)
        return await self._logs.change(owner, session, decide)


async def values_of(logs: AsyncLogs, state: LogState, keys: Sequence[str]) -> list[bytes]:
    """Read the values of documents; begin again when one was replaced since."""
    named = [_value_key(state, key) for key in keys]
    found = await logs.driver.get(named) if named else []
    values: list[bytes] = []
    for key, stored in zip(keys, found, strict=True):
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
