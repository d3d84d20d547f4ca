"""The overlays of a session, with their ends named by messages instead of positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model import Leaf, Message, Overlay, Position, Read
from ..store import Store
from .lines import OverlayLine


class Ends:
    """Finds the messages at the ends of a session's overlays."""

    def __init__(self, store: Store, owner: str, session: str, overlays: Sequence[Overlay]) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._overlays = overlays
        self._wanted = {place for it in overlays for place in (it.first, it.last)}
        self._found: dict[Position, str] = {}

    def meet(self, message: Message) -> None:
        """Look at a message that goes by: it may be an end."""
        if self._wanted and message.position in self._wanted:
            self._found[message.position] = message.id

    def lines(self, leaves: Sequence[Leaf], lost: list[str]) -> Iterator[OverlayLine]:
        """Give the overlays in the order of the format; `lost` gets the ids of those left out."""
        order = sorted(self._overlays, key=lambda it: (-it.last.depth, -it.first.depth))
        for overlay in order:
            last = self._found.get(overlay.last) or self._last(overlay, leaves)
            first = self._found.get(overlay.first) or (last and self._first(overlay, last))
            if first and last:
                yield _line(overlay, first, last)
            else:
                lost.append(overlay.id)

    def _last(self, overlay: Overlay, leaves: Sequence[Leaf]) -> str | None:
        """Find the last live message of a range whose end is inherited or was deleted."""
        here = overlay.last
        near = [leaf for leaf in leaves if leaf.position.depth >= here.depth]
        # A branch that ends in the same segment surely goes through here.
        near.sort(key=lambda leaf: leaf.position.segment != here.segment)
        for leaf in near:
            message = self._one(leaf.id, before=here.depth + 1, backwards=True)
            if message is None or message.depth < overlay.first.depth:
                continue
            if here.segment in (message.segment, leaf.position.segment):
                return message.id
        return None

    def _first(self, overlay: Overlay, last: str) -> str | None:
        message = self._one(last, after=overlay.first.depth - 1)
        return None if message is None else message.id

    def _one(
        self, leaf: str, *, after: int = 0, before: int | None = None, backwards: bool = False
    ) -> Message | None:
        query = Read(
            leaf=leaf, overlays=False, after=after, before=before, limit=1, backwards=backwards
        )
        messages = self._store.read(self._owner, self._session, query).messages
        return messages[0] if messages else None


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
