"""Messages as they stand: read from the records that appended and edited them."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import StoreCorruptError
from ...model import Message
from ...rules.codec import decode_body, digest
from ...rules.tree import Place, Span
from .bundles import runs_of
from .log_documents import LogDocument
from .place import segment_name
from .record import decode_record, open_record
from .state import Edited
from .view import LogView
from .work import Append, AppendedMessage, Edit


class LogRow(NamedTuple):
    """A message. `base` are the tokens down to it as appended; without a body it was erased."""

    place: Place
    n: int
    id: str
    role: str
    tokens: int
    original: int
    version: int
    created_us: int
    base: int
    body: bytes | None
    digest: bytes | None = None
    """That of what was first appended, once it was edited."""


def rows_of(stored: LogDocument, span: Span) -> list[LogRow]:
    """Return the messages of a record that stand in a span, as they were appended, by depth."""
    work = open_record(stored.data, stored.id).work if stored.data else None
    if not isinstance(work, Append):
        raise StoreCorruptError(f"record {stored.id} appends nothing, and is read for that")
    return _rows(work, stored.n, span, stored.id)


def appended_rows(work: Append, n: int, segment: int) -> list[LogRow]:
    """Return the messages that a record was just created with."""
    last = work.first + len(work.messages) - 1
    return _rows(work, n, Span(segment, work.first, last), "")


def _rows(work: Append, n: int, span: Span, where: str) -> list[LogRow]:
    rows: list[LogRow] = []
    for start, base, run in runs_of(work, span.first, span.last, where):
        for depth, said in enumerate(run, start):
            base += said.tokens
            if span.first <= depth <= span.last:
                rows.append(_row(Place(span.segment, depth), n, said, base))
    return rows


def _row(place: Place, n: int, said: AppendedMessage, base: int) -> LogRow:
    # By their places, which takes half the time: a history may have thousands.
    return LogRow(
        place,
        n,
        said.id,
        said.role or "",
        said.tokens,
        said.tokens,
        said.version,
        said.created_us,
        base,
        said.body,
        said.digest,
    )


def erased(row: LogRow) -> LogRow:
    """Return a message that was erased."""
    return row._replace(role="", tokens=0, body=None, digest=None)


def edited_by(row: LogRow, stored: LogDocument | None, edited: Edited) -> LogRow | None:
    """Return a message as a record edited it; None when it was edited again since."""
    work = decode_record(stored.data, stored.id).work if stored and stored.data else None
    if not isinstance(work, Edit) or work.body is None:
        return None
    return row._replace(
        role=work.role or "",
        tokens=work.tokens,
        version=work.version,
        body=work.body,
        digest=work.digest,
    )


def first_digest(row: LogRow) -> bytes | None:
    """Return what a repeated append is compared by; None when the message was erased."""
    if row.body is None or row.digest is not None:
        return row.digest
    return digest(row.role, decode_body(row.body, row.id))


def message_of(row: LogRow, view: LogView) -> Message:
    """Return a live message as users see it."""
    assert row.body is not None
    body = decode_body(row.body, row.id)
    return Message(
        id=row.id,
        role=row.role,
        parts=body.parts,
        metadata=body.metadata,
        segment=segment_name(row.place.segment),
        depth=row.place.depth,
        home=view.home_of(row.place.segment),
        tokens=row.tokens,
        version=row.version,
        created_us=row.created_us,
    )


def is_inside(place: Place, span: Span) -> bool:
    """Whether a position lies in a span."""
    return place.segment == span.segment and span.first <= place.depth <= span.last
