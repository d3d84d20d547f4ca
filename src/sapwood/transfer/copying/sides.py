"""The two stores of a copy, for one owner, and links to parents across them."""

from __future__ import annotations

from typing import NamedTuple

from ...store import Store
from ..lines import SessionLine
from ..named_session import NamedSession


class Sides(NamedTuple):
    """Where sessions come from and go to, and whose they are."""

    source: Store
    target: Store
    owner: str

    def here(self, name: str) -> NamedSession:
        """Return a session where it comes from."""
        return NamedSession(self.source, self.owner, name)

    def there(self, name: str) -> NamedSession:
        """Return a session where it goes to."""
        return NamedSession(self.target, self.owner, name)

    def is_edge_lost(self, line: SessionLine) -> bool:
        """Whether a session's link to its parent cannot be had on the target.

        The parent is gone from the source, or came out of this session itself: of sessions that
        name each other, one has to be created first.
        """
        seen: set[str] = set()
        edge = line.parent
        while edge is not None and edge.session not in seen:
            if edge.session == line.id:
                return True
            record = self.here(edge.session).find_record()
            if record is None:
                return edge == line.parent
            seen.add(edge.session)
            edge = record.parent
        return False
