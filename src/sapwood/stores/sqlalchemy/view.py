"""What a session shows at a leaf: spans of messages, overlays, and the pins under them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import bindparam, or_, select

from ...rules.overlay import Cover, resolve_up
from ...rules.tree import Span, spans_up
from ..relational.pins import PINS_KEY, pinned_ids
from ..relational.position import bounds, place_of, unpack_place
from ..relational.rows import SessionRow
from ..relational.walk import pins_under
from .lookup import find_all_seen
from .rows import overlay_columns
from .tables import Tables
from .tx import Tx


class View:
    """A session's way of seeing its tree; whatever it looks up, it looks up once."""

    def __init__(self, tx: Tx, session: SessionRow) -> None:
        self.tx = tx
        self.session = session
        self._pins: list[int] | None = None

    def visible(self, leaf: int) -> Iterator[Span | Cover]:
        """Give what is shown at a leaf, from the leaf upwards."""
        place = unpack_place(leaf)
        if not self.session.overlays:
            return spans_up(place, self.tx.lineage)
        return resolve_up(place, self.tx.lineage, self._deepest)

    def _deepest(self, span: Span) -> Cover | None:
        first, last = bounds(span)
        row = self.tx.row(_deepest, session=self.session.number, low=first, high=last)
        if row is None:
            return None
        number, _, begin, end = row[:4]
        return Cover(number, place_of(begin), place_of(end), row)

    def pinned_under(self, cover: Cover) -> list[int]:
        """Give the positions of the live pinned messages that an overlay covers, by depth."""
        if self._pins is None:
            self._pins = self._find_pins()
        return pins_under(self._pins, cover, self.tx.lineage)

    def _find_pins(self) -> list[int]:
        seen = find_all_seen(self.tx, self.session, self._pinned_ids())
        return [it.pos for it in seen.values() if it.is_live]

    def _pinned_ids(self) -> list[str]:
        session = self.session
        data = self.tx.value(_pins, owner=session.owner, session=session.number, now=self.tx.now())
        return [] if data is None else pinned_ids(data, session.id)


def _deepest(t: Tables) -> Any:
    f, o = t.in_force.c, t.overlay.c
    return (
        select(*overlay_columns(t))
        .select_from(t.in_force.join(t.overlay, o.number == f.overlay))
        .where(
            f.session == bindparam("session"), f.last.between(bindparam("low"), bindparam("high"))
        )
        .order_by(f.last.desc(), f.width.desc(), f.overlay.desc())
        .limit(1)
    )


def _pins(t: Tables) -> Any:
    d = t.document.c
    return select(d.value).where(
        d.owner == bindparam("owner"),
        d.session == bindparam("session"),
        d.key == PINS_KEY,
        or_(d.expires_at.is_(None), d.expires_at > bindparam("now")),
    )
