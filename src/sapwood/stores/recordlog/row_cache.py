"""Messages that need not be read from records, for a log that is in this process as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...rules.tree import Span
from .place import segment_name
from .rows import LogRow


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
