"""Work on documents. A version is the number of the record that put it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....calls import AsyncAnswer
from ....errors import StoreCorruptError
from ....model import Document
from ...base.refusals import stale_document
from ..entry import LogEntry, stored_entry
from ..errors import BehindError
from ..fold import version_at
from ..log_documents import LogKey, owner_log, record_key, value_key
from ..record import decode_record
from ..state import KeptDocument, LogState
from ..work import DropDocument, PutDocument
from .logs import TRIES, AsyncLogs, ChangeOutcome, Decision, busy

DOCUMENTS = "documents"


class AsyncLogDocuments:
    """Work on documents. Expired ones stay stored: a fence may still name their version."""

    def __init__(self, logs: AsyncLogs) -> None:
        self._logs = logs

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""
        found = await self._read(owner, session, [key])
        return found[0] if found else None

    async def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]:
        """List documents by their keys' beginning."""
        return await self._read(owner, session, None, prefix)

    async def _read(
        self, owner: str, session: str | None, keys: list[str] | None, prefix: str = ""
    ) -> list[Document]:
        for _ in range(TRIES):
            state = await self._shelf(owner, session)
            now = await self._logs.now()
            wanted = sorted(state.documents) if keys is None else keys
            live = [
                key
                for key in wanted
                if key.startswith(prefix)
                and key in state.documents
                and not is_expired(state.documents[key], now)
            ]
            try:
                return await self._documents(state, live)
            except BehindError:
                continue
        raise busy()

    async def _documents(self, state: LogState, keys: Sequence[str]) -> list[Document]:
        values = await values_of(self._logs, state, keys)
        return [
            document_of(key, state.documents[key], value)
            for key, value in zip(keys, values, strict=True)
        ]

    async def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document:
        """Create or replace a document."""

        async def decide(state: LogState) -> Decision:
            now = await self._logs.now()
            _check_version(key, state.documents.get(key), expected_version, now)
            expires = None if expires_in_us is None else now + expires_in_us
            if session is None and not state.documents:
                # The first one sees to it that the owner is listed.
                await self._logs.driver.create_all([stored_entry(LogEntry(owner))])
            return Decision(PutDocument(key, now, expires, value))

        state = (await self._change(owner, session, decide)).state
        return document_of(key, state.documents[key], value)

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; return whether it was there and not expired."""

        async def decide(state: LogState) -> Decision:
            kept = state.documents.get(key)
            if expected_version is not None and (kept is None or kept.version != expected_version):
                raise stale_document(key, None if kept is None else kept.version, expected_version)
            if kept is None:
                return Decision(None, False)
            return Decision(DropDocument(key), not is_expired(kept, await self._logs.now()))

        return bool((await self._change(owner, session, decide)).answer)

    async def _shelf(self, owner: str, session: str | None) -> LogState:
        if session is not None:
            return await self._logs.current(owner, session)
        return await owner_state(self._logs, owner, DOCUMENTS)

    async def _change(
        self,
        owner: str,
        session: str | None,
        decide: Callable[[LogState], AsyncAnswer[Decision]],
    ) -> ChangeOutcome:
        if session is not None:
            return await self._logs.change(owner, session, decide)
        log = owner_log(owner, DOCUMENTS)
        return await self._logs.change_log(log, log, decide)


async def owner_state(logs: AsyncLogs, owner: str, what: str) -> LogState:
    """Get the state of a log of an owner's; one that has none is empty."""
    log = owner_log(owner, what)
    state = await logs.load(log, log) or LogState(tree=log, log=log)
    [state] = await logs.catch_up([state])
    return state


async def value_of(logs: AsyncLogs, state: LogState, key: str) -> bytes:
    """Read the value of a document."""
    [value] = await values_of(logs, state, [key])
    return value


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
        work = decode_record(stored.data, stored.id).work if stored.data else None
        if not isinstance(work, PutDocument) or work.value is None:
            raise BehindError
        values.append(work.value)
    return values


def _value_key(state: LogState, key: str) -> LogKey:
    n = state.documents[key].n
    if n < 0:
        return value_key(state.tree, state.log, key, n)
    return record_key(state.tree, state.log, n)


def document_of(key: str, kept: KeptDocument, value: bytes) -> Document:
    """Return a document as users see it."""
    return Document(
        key=key,
        value=value,
        version=kept.version,
        updated_us=kept.updated_us,
        expires_us=kept.expires_us,
    )


def copied(state: LogState, k: int) -> dict[str, KeptDocument]:
    """Return the documents that a fork begins with: all but leases, with versions of its own."""
    version = version_at(LogState(tree="", log="", k=k), 0)
    return {
        key: kept._replace(version=version, n=-kept.version)
        for key, kept in state.documents.items()
        if kept.expires_us is None
    }


def is_expired(kept: KeptDocument, now: int) -> bool:
    """Whether a document is not to be found any more."""
    return kept.expires_us is not None and kept.expires_us <= now


def _check_version(key: str, kept: KeptDocument | None, expected: int | None, now: int) -> None:
    if expected is None:
        return
    if expected == 0 and (kept is None or is_expired(kept, now)):
        return
    if kept is None or kept.version != expected:
        raise stale_document(key, None if kept is None else kept.version, expected)
