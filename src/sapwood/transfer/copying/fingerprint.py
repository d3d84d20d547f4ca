"""What a copy leaves with a session: by it, the next one knows whether others wrote there since."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from ...model import Message, Overlay, SessionRecord, UsageTotal
from ..import_marks import KEEP_S
from ..named_session import NamedSession

KEY = "copied"
"""A document of the session with an expiry: it is neither exported nor handed on to forks."""


class Fingerprint:
    """Stands for all that a session has on one store. Any write to it gives another."""

    def __init__(self) -> None:
        self._messages = 0
        self._rest = hashlib.blake2b(digest_size=16)

    def add_message(self, message: Message) -> None:
        """Add a message, in any order: an edit gives another version."""
        name = f"{message.id}\0{message.version}\0{message.segment}\0{message.depth}"
        data = hashlib.blake2b(name.encode(), digest_size=16).digest()
        self._messages = (self._messages + int.from_bytes(data)) % 2**128

    def add_rest(
        self,
        record: SessionRecord,
        versions: dict[str, int],
        overlays: Iterable[Overlay],
        usage: Iterable[UsageTotal],
    ) -> None:
        """Add what is not messages; `versions` are those of the documents."""
        parts = (
            record.version,
            str(record.tip),
            sorted(versions.items()),
            sorted(overlay.id for overlay in overlays),
            list(usage),
        )
        self._rest.update(msgspec.json.encode(parts))

    def __str__(self) -> str:
        """Write it down."""
        return f"{self._messages:032x}{self._rest.hexdigest()}"


def find_fingerprint(session: NamedSession) -> str:
    """Find the fingerprint that the last copy left, or nothing."""
    document = session.store.find_document(session.owner, KEY, session=session.id)
    return "" if document is None else document.value.decode(errors="replace")


def put_fingerprint(session: NamedSession, value: str) -> None:
    """Leave a fingerprint with a session."""
    store, owner, name = session
    store.put_document(owner, KEY, value.encode(), session=name, expires_in_s=KEEP_S)
