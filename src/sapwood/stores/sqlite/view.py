"""What a session shows at a leaf: spans of messages, overlays, and the pins under them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ...errors import StoreCorruptError
from ...rules.overlay import Cover, resolve_up
from ...rules.tree import Place, Span, spans_up
from ..relational.pins import PINS_KEY, pinned_ids
from ..relational.position import bounds, unpack_place
from ..relational.rows import SessionRow
from ..relational.walk import pins_under
from .checksum import checksum
from .connection import Connection
from .lookup import find_seen
from .rows import OVERLAY_COLUMNS, missing_overlay

_DEEPEST = (
    f"SELECT f.shown, {OVERLAY_COLUMNS}"
    " FROM in_force f LEFT JOIN overlay o ON o.number = f.overlay"
    " WHERE f.session = ? AND f.last BETWEEN ? AND ?"
    " ORDER BY f.last DESC, f.first_depth ASC, f.overlay DESC LIMIT 1"
)


class View:
    """A session's way of seeing its tree; whatever it looks up, it looks up once."""

    def __init__(self, tx: Connection, session: SessionRow) -> None:
        self.tx = tx
        self.session = session
        self._lineages: dict[int, list[Place]] = {}
        self._shown: dict[int, int | None] = {}
        self._pins: list[int] | None = None

    def lineage(self, segment: int) -> list[Place]:
        """Give a segment's lineage."""
        found = self._lineages.get(segment)
        if found is None:
            found = self._lineages[segment] = self.tx.lineage(segment)
        return found

    def visible(self, leaf: int) -> Iterator[Span | Cover]:
        """Give what is shown at a leaf, from the leaf upwards."""
        place = unpack_place(leaf)
        if not self.session.overlays:
            return spans_up(place, self.lineage)
        return resolve_up(place, self.lineage, self._deepest)

    def _deepest(self, span: Span) -> Cover | None:
        row = self.tx.row(_DEEPEST, (self.session.number, *bounds(span)))
        if row is None:
            return None
        shown, *overlay = row
        number, _, first, last = overlay[:4]
        if number is None:
            raise missing_overlay(self.session.id)
        self._shown[number] = shown
        begin, end = unpack_place(first), unpack_place(last)
        assert begin is not None
        assert end is not None
        return Cover(number, begin, end, tuple(overlay))

    def shown(self, cover: Cover) -> int | None:
        """Give the tokens shown from the root to an overlay's end, if they are kept and hold."""
        shown = self._shown[cover.number]
        return shown if shown is not None and self.is_plain else None

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing in the tree was edited, and nothing is pinned: kept sums hold."""
        if self.session.edited:
            return False
        found = self._pins_document()
        return found is None or found[2] == b"[]"

    def pinned_under(self, cover: Cover) -> list[int]:
        """Give the positions of the live pinned messages that an overlay covers, by depth."""
        if self._pins is None:
            self._pins = self._find_pins()
        return pins_under(self._pins, cover, self.lineage)

    def _find_pins(self) -> list[int]:
        seen = (find_seen(self.tx, self.session, id) for id in self._pinned_ids())
        return [it.pos for it in seen if it and it.is_live]

    def _pins_document(self) -> tuple[Any, ...] | None:
        session = self.session
        found: tuple[Any, ...] | None = self.tx.row(
            "SELECT key, updated_at, value, checksum FROM document"
            " WHERE owner = ? AND session = ? AND key = ?"
            " AND (expires_at IS NULL OR expires_at > ?)",
            (session.owner, session.number, PINS_KEY, self.tx.clock()),
        )
        return found

    def _pinned_ids(self) -> list[str]:
        session, found = self.session, self._pins_document()
        if found is None:
            return []
        if checksum(found[:-1]) != found[-1]:
            raise StoreCorruptError(f"the pins of session {session.id!r} are not as they were put")
        return pinned_ids(found[2], session.id)
