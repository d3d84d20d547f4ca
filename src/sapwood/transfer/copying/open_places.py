"""Places that are held open until the overlays of forks are there, and sessions that show them.

A message can be deleted through its home only, and an overlay cannot be put on a deleted one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from ...errors import NotFoundError
from ...model import Position
from ..lines import is_for_a_gap
from .events import CopyStatus
from .session import SessionCopy
from .sides import Sides


def awaited_by_forks(sides: Sides, names: Iterable[str]) -> set[Position]:
    """Find the ends of the overlays that forks have in the source."""
    found: set[Position] = set()
    for name in names:
        record = sides.here(name).find_record()
        if record is None or record.forked_at is None:
            continue
        # One that is deleted meanwhile awaits nothing.
        with contextlib.suppress(NotFoundError):
            for overlay in sides.source.list_overlays(sides.owner, name):
                found |= {overlay.first, overlay.last}
    return found


class OpenPlaces:
    """Knows the places of one owner, and who shows them: the session itself, and its forks."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._places: dict[str, None] = {}
        self.sessions: dict[str, tuple[CopyStatus, SessionCopy]] = {}
        """What became of each, which is told when its places are gone."""

    def keep(self, name: str, status: CopyStatus, copy: SessionCopy) -> bool:
        """Note a session that was copied, if it shows a place; return whether it does."""
        self._places |= dict.fromkeys(copy.kept)
        if not self.shown_in(name):
            return False
        self.sessions[name] = status, copy
        return True

    def shown_in(self, name: str) -> list[str]:
        """Find the places that a session shows now; one that is gone shows nothing."""
        try:
            found = self._sides.there(name).find(list(self._places))
        except NotFoundError:
            return []
        return [it.id for it in found.values() if is_for_a_gap(it)]
