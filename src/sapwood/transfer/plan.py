"""What the first pass of an import leaves for the second."""

from __future__ import annotations

CHUNK = 500
CHUNK_BYTES = 4 * 1024 * 1024


class SessionPlan:
    """A session of the file: is it stored already, and what of it."""

    def __init__(self, *, exists: bool) -> None:
        self.exists = exists
        self.tip: str | None = None
        """The stored tip; None is the root."""
        self.is_tip_in_file = True
        self.has_usage = False
        self.stored_overlays: dict[str, str] = {}
        self.overlays: set[str] = set()
        self.documents: set[str] = set()


class Plan:
    """All sessions of a file."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionPlan] = {}
