"""What a session sees, put together from its own state and those of the homes that it inherited."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from ...errors import StoreCorruptError
from ...model import Position
from ...rules.tree import (
    LINEAGE_CAP,
    Cover,
    Place,
    Span,
    is_on_path,
    place_before,
    resolve_up,
    spans_up,
)
from .log_documents import LogDocument
from .record import data_left
from .state import Edited, LaidOverlay, LogSegment, LogState
from .work import log_of, number_of, place_of, public

ViewPiece = Span | LaidOverlay

_DEEPEST = 1 << 62


class LogView:
    """A session as it is at one moment; `states` has those of all logs that its paths touch."""

    def __init__(
        self, own: LogState, states: Mapping[str, LogState], fetched: Sequence[LogDocument] = ()
    ) -> None:
        self.own = own
        self.fetched = fetched
        """Records that were got with the state, and need not be asked for."""
        self.states = {**states, own.log: own}
        self.has_edits = bool(own.foreign or any(it.edits for it in self.states.values()))
        """Whether any message of any of these logs is not as it was appended."""
        self.has_data = any(it.data or it.inherited_data for it in self.states.values())
        self._homes: dict[int, str | None] = {}
        self._by_stamp = {it.stamp: it for it in own.overlays}
        self._ends: dict[int, list[LaidOverlay]] = {}
        for laid in sorted(own.overlays, key=_rank):
            self._ends.setdefault(laid.last.segment, []).append(laid)

    def segment(self, segment: int) -> LogSegment:
        """Return a segment's row."""
        state = self.states.get(log_of(segment))
        if state is None or not 0 < number_of(segment) <= len(state.segments):
            raise StoreCorruptError(f"session {self.own.session!r} stands on a missing segment")
        return state.segments[number_of(segment) - 1]

    def lineage_of(self, segment: int) -> list[Place]:
        """Return the nearest positions on the way to the root."""
        lineage: list[Place] = []
        while len(lineage) < LINEAGE_CAP:
            parent = self.segment(segment).parent
            if parent is None:
                break
            lineage.append(parent)
            segment = parent.segment
        return lineage

    def home_of(self, segment: int) -> str | None:
        """Return the session that wrote a segment; None when that is gone."""
        if segment not in self._homes:
            state = self.states[log_of(segment)]
            is_there = state.is_alive and number_of(segment) > state.retired
            self._homes[segment] = state.session if is_there else None
        return self._homes[segment]

    def is_own(self, segment: int) -> bool:
        """Whether a segment is this session's."""
        return log_of(segment) == self.own.log and number_of(segment) > self.own.retired

    def on_path(self, place: Place, leaf: Place | None) -> bool:
        """Whether a position lies on the path to a leaf."""
        return is_on_path(place, leaf, self.lineage_of)

    def covers(self, laid: LaidOverlay, place: Place) -> bool:
        """Whether a position is under an overlay."""
        return laid.first.depth <= place.depth and self.on_path(place, laid.last)

    def sees(self, place: Place) -> bool:
        """Whether the session sees a position."""
        return self.is_own(place.segment) or self.on_path(place, self.own.fork)

    def before(self, place: Place) -> Place | None:
        """Return the position that a position follows."""
        return place_before(place, self.lineage_of)

    def data_at(self, place: Place | None) -> Place | None:
        """Return where the version of the data stands that holds at a position."""
        return None if place is None else self.states[log_of(place.segment)].data_at(place)

    def public_data_at(self, place: Place | None) -> Position | None:
        """Return where the data of a position stands, as users see it."""
        at = self.data_at(place) if self.has_data else None
        return None if at is None else public(at)

    def is_mark(self, place: Place) -> bool:
        """Whether a position is a mark."""
        return self.has_data and self.states[log_of(place.segment)].is_mark(place)

    def data_anew(self, place: Place) -> int:
        """Return the record that wrote the data at a position anew; 0 for none."""
        kept = self.states[log_of(place.segment)].data.get(number_of(place.segment), {})
        return kept[place.depth].anew if place.depth in kept else 0

    def data_left(self, place: Place, data: bytes) -> bytes:
        """Return the data at a position without the fields that were erased."""
        state, number = self.states[log_of(place.segment)], number_of(place.segment)
        known = state.erased_fields.get(number, {})
        kept = state.data.get(number, {}).get(place.depth)
        # What was written anew may have a field again that was erased before.
        fields = known
        if kept is not None and kept.anew:
            fields = dict.fromkeys(kept.erased, place.depth)
        for end, field in self.own.foreign_fields:
            if end.segment == place.segment and known.get(field, 0) < end.depth:
                fields = fields | {field: max(end.depth, fields.get(field, 0))}
        return data_left(data, fields, place.depth)

    def find_place(self, position: Position) -> Place | None:
        """Return the place of a position that the session sees."""
        place = place_of(position)
        state = None if place is None else self.states.get(log_of(place.segment))
        if place is None or state is None:
            return None
        if not 0 < number_of(place.segment) <= len(state.segments):
            return None
        row = self.segment(place.segment)
        return place if row.first <= place.depth <= row.last and self.sees(place) else None

    def spans(self, leaf: Place | None) -> Iterator[Span]:
        """Return the path to a leaf, from the leaf up."""
        return spans_up(leaf, self.lineage_of)

    def edited(self, place: Place) -> Edited | None:
        """Whether a message is not as it was appended."""
        if place in self.own.foreign:
            return Edited(0, -self.own.foreign[place][0], True, 0)
        return self.edited_there(place)

    def edited_there(self, place: Place) -> Edited | None:
        """Return what a message's own log says of it."""
        state = self.states[log_of(place.segment)]
        return state.edits.get(number_of(place.segment), {}).get(place.depth)

    def edits_in(self, span: Span) -> Iterator[tuple[int, Edited]]:
        """Yield the edits of a span by depth, in no order."""
        state = self.states[log_of(span.segment)]
        foreign = self.own.foreign
        of_segment = state.edits.get(number_of(span.segment), {})
        for depth, edited in of_segment.items():
            if span.first <= depth <= span.last and Place(span.segment, depth) not in foreign:
                yield depth, edited
        for place, (tokens, _, _) in foreign.items():
            if place.segment == span.segment and span.first <= place.depth <= span.last:
                yield place.depth, Edited(0, -tokens, True, 0)

    def resolve(self, leaf: Place | None) -> list[ViewPiece]:
        """Return what is shown at a leaf, from the leaf up."""
        pieces = resolve_up(leaf, self.lineage_of, self._deepest)
        return [p if isinstance(p, Span) else self._by_stamp[p.number] for p in pieces]

    def _deepest(self, span: Span) -> Cover | None:
        ends = self._ends.get(span.segment)
        if not ends:
            return None
        # It sorts before every rank of the next depth.
        index = bisect_right(ends, (span.last + 1, -_DEEPEST, 0), key=_rank)
        if not index or ends[index - 1].last.depth < span.first:
            return None
        laid = ends[index - 1]
        return Cover(laid.stamp, laid.first, laid.last)

    def tokens(self, pieces: Sequence[ViewPiece], leaf_base: int) -> int:
        """Sum what is shown at a leaf, whose running sum is `leaf_base`, without pins."""
        total = leaf_base
        for piece in pieces:
            if isinstance(piece, Span):
                total += sum(edited.delta for _, edited in self.edits_in(piece))
            else:
                total += piece.tokens - (piece.base - piece.above)
        return total


def _rank(laid: LaidOverlay) -> tuple[int, int, int]:
    return laid.last.depth, -laid.first.depth, laid.stamp
