"""The oracle's overlays."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import AlreadyExistsError, ConflictError, NotFoundError, UsageError
from ...model import EntryRef, Fence, NewOverlay
from .base import OracleBase, beside, refuse
from .node import Cover, Node
from .session import Session, Shown
from .units import closed, lost


class OracleOverlays(OracleBase):
    """Overlays: put over what is shown, and taken away again."""

    def add_overlay(
        self,
        session: str,
        new: NewOverlay,
        *,
        snapshot: int | None = None,
        fence: Sequence[Fence] = (),
        now_us: int = 0,
    ) -> Cover:
        """Put an overlay over a range; `snapshot` is what `changes` was when it was read."""
        found = self.get(session)
        wrong = [*lost(found, fence), *closed(found)]
        with beside(wrong):
            cover = self._cover(session, new, self._inside(found, new), now_us)
        if snapshot is not None and any(node.changed > snapshot for node in cover.nodes):
            wrong.append(ConflictError)
        if new.id in self.overlay_ids(found):
            wrong.append(AlreadyExistsError)
        refuse(wrong)
        found.covers.append(cover)
        found.stale = False
        return cover

    def overlay_ids(self, session: Session) -> set[str]:
        """Return the ids of the overlays in force anywhere in a session's tree."""
        same = [other for other in self.sessions.values() if other.tree is session.tree]
        return {cover.id for other in same for cover in other.covers}

    def _inside(self, session: Session, new: NewOverlay) -> list[Shown]:
        """Return the entries that an overlay is put over."""
        leaf = session.tip if new.leaf is None else self.place(session, new.leaf)
        entries = session.shown(leaf)
        names = [entry.name for entry in entries]
        missing = [end for end in (new.first, new.last) if (end.kind, end.id) not in names]
        refuse([ConflictError if _exists(session, end) else NotFoundError for end in missing])
        first, last = (names.index((end.kind, end.id)) for end in (new.first, new.last))
        refuse([UsageError] if first > last else [])
        return entries[first : last + 1]

    def _cover(self, session: str, new: NewOverlay, inside: list[Shown], now_us: int) -> Cover:
        first, last = inside[0], inside[-1]
        pins = sum(pin.tokens for entry in inside for pin in entry.pins)
        return Cover(
            id=new.id or "",
            first=first.cover.first if first.cover else _node(first),
            last=last.cover.last if last.cover else _node(last),
            summary=new.summary,
            tokens=new.tokens or 0,
            covered_tokens=sum(entry.tokens for entry in inside) - pins,
            created_by=session,
            created_us=now_us,
            number=self._next_cover(),
        )

    def undo(self, session: str, overlay: str, fence: Sequence[Fence] = ()) -> Cover:
        """Take an overlay out of force."""
        found = self.get(session)
        cover = next((cover for cover in found.covers if cover.id == overlay), None)
        missing = [NotFoundError] if cover is None else []
        refuse([*lost(found, fence), *closed(found), *missing])
        assert cover is not None
        found.covers.remove(cover)
        found.stale = False
        return cover


def _exists(session: Session, end: EntryRef) -> bool:
    if end.kind == "overlay":
        return any(cover.id == end.id for cover in session.covers)
    return session.find(end.id) is not None


def _node(entry: Shown) -> Node:
    assert entry.node is not None
    return entry.node
