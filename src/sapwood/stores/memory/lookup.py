"""Finding sessions, messages and positions: what a session sees, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import NotFoundError
from ...model import ROOT, Message, Position, Root
from ...rules.codec import decode_body
from ...rules.tree import Lineage, Place, Span, is_on_path, place_before
from .state import MessageRow, Segment, SessionRow, State


def get_session(state: State, owner: str, id: str) -> SessionRow:
    """Get a session of an owner."""
    row = state.sessions.get(owner, {}).get(id)
    if row is None:
        raise NotFoundError(
            f"there is no session {id!r} for this owner: create it first", kind="session", id=id
        )
    return row


def lineage_of(state: State, segment: int) -> Lineage:
    """Give a segment's lineage."""
    return state.segments[segment].lineage


def on_path(state: State, place: Place, leaf: Place | None) -> bool:
    """Tell whether a position lies on the path to a leaf."""
    return is_on_path(place, leaf, lambda segment: lineage_of(state, segment))


def before(state: State, place: Place) -> Place | None:
    """Give the position that a position follows; None above the root."""
    return place_before(place, lambda segment: lineage_of(state, segment))


def row_at(state: State, place: Place) -> MessageRow:
    """Give the message at a position."""
    segment = state.segments[place.segment]
    return segment.rows[place.depth - segment.above - 1]


def rows_in(
    state: State, span: Span, *, backwards: bool = False
) -> Iterator[tuple[Place, MessageRow]]:
    """Give the messages of a span, deleted ones too."""
    depths = range(span.first, span.last + 1)
    for depth in reversed(depths) if backwards else depths:
        place = Place(span.segment, depth)
        yield place, row_at(state, place)


def id_at(state: State, place: Place | None) -> str | Root:
    """Give the id of the message at a position."""
    return ROOT if place is None else row_at(state, place).id


def sees(state: State, session: SessionRow, place: Place) -> bool:
    """Tell whether a session sees a position: its own, or one on the path to its fork point."""
    if state.segments[place.segment].home == session.home:
        return True
    return on_path(state, place, session.fork)


def find_place(state: State, session: SessionRow, id: str) -> Place | None:
    """Find a message, deleted or not, that a session sees: one probe for each home."""
    own = state.places.get((session.home, id))
    if own is not None:
        return own
    for home in session.inherited:
        place = state.places.get((home, id))
        if place is not None and on_path(state, place, session.fork):
            return place
    return None


def get_place(state: State, session: SessionRow, id: str | Root) -> Place | None:
    """Get the position of a message that a session sees; None for the root."""
    if isinstance(id, Root):
        return None
    place = find_place(state, session, id)
    if place is None:
        raise NotFoundError(f"session {session.id!r} sees no message {id!r}", kind="message", id=id)
    return place


def following(state: State, session: SessionRow, place: Place | None) -> list[Place]:
    """Give the positions that a session sees right after a position, in order."""
    if place is None:
        found = [Place(number, 1) for number in state.trees[session.tree].roots]
    else:
        segment = state.segments[place.segment]
        below = place.depth + 1
        found = [Place(number, below) for number in segment.children.get(place.depth, ())]
        if below <= segment.last:
            found.append(Place(segment.number, below))
    return sorted(child for child in found if sees(state, session, child))


def path_tokens(state: State, place: Place | None) -> int:
    """Give the tokens of the path from the root to a position."""
    if place is None:
        return 0
    segment = state.segments[place.segment]
    return segment.path_tokens[place.depth - segment.above - 1]


def span_tokens(state: State, span: Span) -> int:
    """Give the tokens of a span, without looking at its messages."""
    above = before(state, Place(span.segment, span.first))
    return path_tokens(state, Place(span.segment, span.last)) - path_tokens(state, above)


def position(place: Place) -> Position:
    """Give a position as users see it."""
    return Position(str(place.segment), place.depth)


def home_of(state: State, segment: int) -> str | None:
    """Give the session that wrote a segment; None when it is gone."""
    home = state.homes.get(state.segments[segment].home)
    return None if home is None else home.id


def message_at(state: State, place: Place) -> Message | None:
    """Give the message at a position as users see it; None when it was deleted."""
    segment = state.segments[place.segment]
    row = row_at(state, place)
    return None if row.body is None else _message(state, segment, place, row, row.body)


def _message(state: State, segment: Segment, place: Place, row: MessageRow, data: bytes) -> Message:
    body = decode_body(data, row.id)
    return Message(
        id=row.id,
        role=row.role,
        parts=body.parts,
        metadata=body.metadata,
        segment=str(place.segment),
        depth=place.depth,
        home=home_of(state, segment.number),
        tokens=row.tokens,
        version=row.version,
        created_us=row.created_us,
    )
