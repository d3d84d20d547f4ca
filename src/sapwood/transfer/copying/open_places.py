"""Sessions that show places which are held open until the overlays of forks are there."""

from __future__ import annotations

import contextlib

from ...errors import NotFoundError
from ..new_records import is_for_a_gap
from .events import CopyStatus
from .session import SessionCopy
from .sides import Sides


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
        """Find the places that a session shows now."""
        sides = self._sides
        if not self._places:
            return []
        # One that is gone shows nothing.
        with contextlib.suppress(NotFoundError):
            found = sides.target.find_messages(sides.owner, name, list(self._places))
            return [it.id for it in found if it is not None and is_for_a_gap(it)]
        return []
