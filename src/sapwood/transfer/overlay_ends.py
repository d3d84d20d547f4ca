"""The overlays of a session, with their ends named by messages instead of positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import NotFoundError
from ..model import Leaf, Overlay, Position
from ..store import Store
from .lines import OverlayLine
from .positions import MessageOrGap, find_at


class OverlayEnds:
    """Finds the messages at the ends of a session's overlays, deleted or not."""

    def __init__(self, store: Store, owner: str, session: str, overlays: Sequence[Overlay]) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._overlays = overlays
        self._wanted = {place for it in overlays for place in (it.first, it.last)}
        self._found: dict[Position, str] = {}

    def meet(self, found: MessageOrGap) -> None:
        """Look at a message that goes by: it may be an end."""
        if self._wanted and found.position in self._wanted:
            self._found[found.position] = found.id

    def lines(self, leaves: Sequence[Leaf]) -> Iterator[OverlayLine]:
        """Yield the overlays in the order of the format.

        Raises `NotFoundError` when a branch went while it was read.
        """
        order = sorted(self._overlays, key=lambda it: (-it.last.depth, -it.first.depth))
        for overlay in order:
            last = self._id_at(overlay.last, [leaf.id for leaf in _near(leaves, overlay.last)])
            first = self._id_at(overlay.first, [last] if last else [])
            if first is None or last is None:
                raise NotFoundError(
                    f"overlay {overlay.id!r} ends at a message that is gone meanwhile: try again",
                    kind="overlay",
                    id=overlay.id,
                )
            yield _line(overlay, first, last)

    def _id_at(self, position: Position, leaves: Sequence[str]) -> str | None:
        """Find what no walk has met: a fork's walk does not go over what it inherited."""
        for leaf in leaves if position not in self._found else ():
            found = find_at(self._store, self._owner, self._session, leaf, position)
            if found is not None:
                self.meet(found)
                break
        return self._found.get(position)


def _near(leaves: Sequence[Leaf], position: Position) -> list[Leaf]:
    """Return the leaves that may lie below a position, first those that surely do."""
    near = [leaf for leaf in leaves if leaf.position.depth >= position.depth]
    return sorted(near, key=lambda leaf: leaf.position.segment != position.segment)


def _line(overlay: Overlay, first: str, last: str) -> OverlayLine:
    return OverlayLine(
        id=overlay.id,
        first=first,
        last=last,
        summary=overlay.summary,
        tokens=overlay.tokens,
        covered_tokens=overlay.covered_tokens,
        metadata=overlay.metadata,
        created_by=overlay.created_by,
        created_us=overlay.created_us,
    )
