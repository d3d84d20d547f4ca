"""Messages as they stand: read from the records that appended and edited them.

A log that is in this process as a whole keeps those that were read in a `RowCache`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...errors import StoreCorruptError
from ...model import Message
from ...rules.codec import MARK_DIGEST, Body, decode_body, digest
from ...rules.tree import Place, Span
from .errors import BehindError
from .log_documents import LogDocument
from .record import open_record, runs_of, works_in
from .state import Edited
from .view import LogView
from .work import (
    Append,
    AppendedMessage,
    Edit,
    RewriteData,
    log_of,
    number_of,
    segment_name,
)


class LogRow(NamedTuple):
    """A message. `base` are the tokens down to it as appended.

    Without a body it was erased, or is a mark.
    """

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
    """That of what was first appended, once it was edited, or where it was given."""
    data: bytes | None = None
    """As it was appended: fields of it may have been erased since."""
    is_mark: bool = False


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
        said.data,
        said.is_mark,
    )


class Rewordings:
    """What records say of positions that were given before, each record decoded once."""

    def __init__(self, records: Iterable[LogDocument | None]) -> None:
        works = [(it.log, it.n, work) for it in records if it for work in works_in(it)]
        self._edits = {
            (log, n, it.number, it.depth): it for log, n, it in works if isinstance(it, Edit)
        }
        self._data = {
            (log, n, it.number, it.depth): it for log, n, it in works if isinstance(it, RewriteData)
        }

    def row(self, row: LogRow, edited: Edited | None, anew: int) -> LogRow:
        """Return a message as it is now; `anew` is the record that wrote its data anew, or 0.

        Begin again when it was edited, or written, once more since.
        """
        segment, depth = row.place
        log, number = log_of(segment), number_of(segment)
        if anew:
            data = self._data.get((log, anew, number, depth))
            if data is None or data.value is None:
                raise BehindError
            row = row._replace(data=data.value)
        if edited is None:
            return row
        if edited.is_erased:
            return row._replace(role="", tokens=0, body=None, digest=None)
        work = self._edits.get((log, edited.n, number, depth))
        if work is None or work.body is None:
            raise BehindError
        return row._replace(
            role=work.role or "",
            tokens=work.tokens,
            version=work.version,
            body=work.body,
            digest=work.digest,
        )


def first_digest(row: LogRow) -> bytes | None:
    """Return what a repeated append is compared by; None when the message was erased."""
    if row.is_mark:
        return MARK_DIGEST
    if row.body is None or row.digest is not None:
        return row.digest
    return digest(row.role, decode_body(row.body, row.id))


def message_of(row: LogRow, view: LogView, bodies: bool = True) -> Message:
    """Return a live message as users see it, or without what its body says."""
    assert row.body is not None
    body = decode_body(row.body, row.id) if bodies else Body([])
    return Message(
        id=row.id,
        role=row.role,
        parts=body.parts,
        metadata=body.metadata,
        extra=body.extra,
        name=body.name,
        segment=segment_name(row.place.segment),
        depth=row.place.depth,
        home=view.home_of(row.place.segment),
        tokens=row.tokens,
        version=row.version,
        created_us=row.created_us,
        data_at=view.public_data_at(row.place) if view.has_data else None,
    )


class RowCache:
    """Messages as they were appended, by segment and depth; it grows with what is said and read."""

    def __init__(self) -> None:
        self._segments: dict[str, dict[int, LogRow]] = {}

    def missing(self, spans: Iterable[Span]) -> list[Span]:
        """Return what has to be read before all of the spans are here."""
        missing: list[Span] = []
        for span in spans:
            rows = self._segments.get(segment_name(span.segment), {})
            unread = [depth for depth in range(span.first, span.last + 1) if depth not in rows]
            if unread:
                missing.append(Span(span.segment, unread[0], unread[-1]))
        return missing

    def keep(self, rows: Iterable[LogRow]) -> None:
        """Keep messages that were appended, or read."""
        for row in rows:
            of_segment = self._segments.setdefault(segment_name(row.place.segment), {})
            of_segment[row.place.depth] = row

    def rows(self, spans: Sequence[Span]) -> list[LogRow]:
        """Return the messages of spans, all of which are here, in their order."""
        found: list[LogRow] = []
        for span in spans:
            rows = self._segments[segment_name(span.segment)]
            found += [rows[depth] for depth in range(span.first, span.last + 1)]
        return found

    def forget(self, segment: str, first: int, last: int) -> None:
        """Forget the messages of a record that is no longer as it was."""
        rows = self._segments.get(segment, {})
        for depth in range(first, last + 1):
            rows.pop(depth, None)
        if not rows:
            self._segments.pop(segment, None)
