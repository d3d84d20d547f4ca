"""Links to parents: a store takes only one that is there when the session is created."""

from __future__ import annotations

from ...errors import ConflictError
from ...model import Edge
from ..lines import SessionLine
from .sides import Sides


def edge_for(sides: Sides, line: SessionLine, notes: list[str]) -> Edge | None:
    """Return the link that a session can be created with; note one that is lost.

    Raises `ConflictError` when its parent could be there and is not: it is set only once.
    """
    edge = line.parent
    if edge is None or sides.target.find_session(sides.owner, edge.session) is not None:
        return edge
    if not is_edge_lost(sides, line):
        raise ConflictError(f"it came out of {edge.session!r}, which was not copied")
    notes.append(f"session {line.id!r}: came out of {edge.session!r}, which is not there")
    return None


def is_edge_lost(sides: Sides, line: SessionLine) -> bool:
    """Whether a session's link to its parent cannot be had on the target.

    The parent is gone from the source, or came out of this session itself: of sessions that name
    each other, one has to be created first.
    """
    seen: set[str] = set()
    edge = line.parent
    while edge is not None and edge.session not in seen:
        if edge.session == line.id:
            return True
        record = sides.source.find_session(sides.owner, edge.session)
        if record is None:
            return edge == line.parent
        seen.add(edge.session)
        edge = record.parent
    return False
