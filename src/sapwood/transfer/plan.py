"""What the first pass of an import leaves for the second."""

from __future__ import annotations

CHUNK = 500
CHUNK_BYTES = 4 * 1024 * 1024


class SessionPlan:
    """A session of the file: is it stored already, and what of it."""

    def __init__(self, *, exists: bool) -> None:
        self.exists = exists
        self.has_mark = False
        """An import that was cut off has written to it."""
        self.is_unfinished = False
        """An import that was cut off created it: what it lacks or has too much is put right."""
        self.tip: str | None = None
        """The stored tip; None is the root."""
        self.is_tip_left = False
        """The tip stands where an import that was cut off left it, maybe."""
        self.tip_before: str | None = None
        """Where it stood before that import."""
        self.went_on = False
        """The session has branches that end in messages which the file does not have."""
        self.stored_overlays: dict[str, str] = {}
        self.overlays: set[str] = set()
        self.documents: set[str] = set()

    @property
    def is_ours(self) -> bool:
        """All that it has comes from the file."""
        return not self.exists or (self.is_unfinished and not self.went_on)


class ImportPlan:
    """All sessions of a file."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionPlan] = {}
        self.awaited: set[str] = set()
        """Ids of what overlays of forks end at and their sources have."""
