"""Documents of owners and sessions."""

from __future__ import annotations

from ...errors import StaleVersionError
from ...model import Document
from ..base._sync.unit import Documents
from .lookup import get_session
from .state import SessionRow, State
from .view import PINS, is_expired, settle_sum

KEPT_EXPIRED_US = 24 * 3600 * 1_000_000


class MemoryDocuments(Documents):
    """Work on documents. Expired ones stay for a day: a fence may still name their version."""

    def __init__(self, state: State) -> None:
        self._state = state

    def find(self, owner: str, session: str | None, key: str) -> Document | None:
        document = self._shelf(owner, session).get(key)
        if document is None or is_expired(document, self._state.clock()):
            return None
        return document

    def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document:
        now = self._state.clock()
        shelf = self._shelf(owner, session)
        _check_version(key, shelf.get(key), expected_version, now)
        document = Document(
            key=key,
            value=value,
            version=self._state.next_number(),
            updated_us=now,
            expires_us=None if expires_in_us is None else now + expires_in_us,
        )
        if session is None:
            shelf = self._state.documents.setdefault(owner, shelf)
        shelf[key] = document
        self._follow_pins(owner, session, key)
        return document

    def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        now = self._state.clock()
        shelf = self._shelf(owner, session)
        document = shelf.get(key)
        if expected_version is not None and (
            document is None or document.version != expected_version
        ):
            raise _stale(key, document, expected_version)
        if document is None:
            return False
        del shelf[key]
        self._follow_pins(owner, session, key)
        return not is_expired(document, now)

    def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]:
        now = self._state.clock()
        shelf = self._shelf(owner, session)
        keys = sorted(key for key in shelf if key.startswith(prefix))
        return [shelf[key] for key in keys if not is_expired(shelf[key], now)]

    def _shelf(self, owner: str, session: str | None) -> dict[str, Document]:
        if session is None:
            return self._state.documents.get(owner, {})
        return get_session(self._state, owner, session).documents

    def _follow_pins(self, owner: str, session: str | None, key: str) -> None:
        if session is not None and key == PINS:
            settle_sum(self._state, get_session(self._state, owner, session))


def drop_expired(state: State, now: int) -> None:
    """Remove documents that expired long ago."""
    sessions = (row for rows in state.sessions.values() for row in rows.values())
    for shelf in (*state.documents.values(), *(row.documents for row in sessions)):
        for key in [key for key, it in shelf.items() if is_expired(it, now - KEPT_EXPIRED_US)]:
            del shelf[key]


def copy_documents(state: State, source: SessionRow) -> dict[str, Document]:
    """Copy a session's documents for a fork, except leases; each gets a version of its own."""
    return {
        key: Document(
            key=key,
            value=document.value,
            version=state.next_number(),
            updated_us=document.updated_us,
            expires_us=None,
        )
        for key, document in source.documents.items()
        if document.expires_us is None
    }


def _check_version(key: str, stored: Document | None, expected: int | None, now: int) -> None:
    if expected is None:
        return
    if expected == 0 and (stored is None or is_expired(stored, now)):
        return
    if stored is None or stored.version != expected:
        raise _stale(key, stored, expected)


def _stale(key: str, stored: Document | None, expected: int) -> StaleVersionError:
    found = "not there" if stored is None else f"at version {stored.version}"
    return StaleVersionError(
        f"document {key!r} is {found}, not at version {expected}: read it again, then decide"
    )
