"""What the first pass of an import leaves for the second."""

from __future__ import annotations

from dataclasses import dataclass, field

CHUNK = 500
CHUNK_BYTES = 4 * 1024 * 1024


@dataclass
class SessionPlan:
    """A session of the file: is it stored already, and what of it."""

    exists: bool
    has_mark: bool = False
    """An import that was cut off has written to it."""
    is_unfinished: bool = False
    """An import that was cut off created it: what it lacks or has too much is put right."""
    tip: str | None = None
    """The stored tip; None is the root."""
    is_tip_left: bool = False
    """The tip stands where an import that was cut off left it, maybe."""
    tip_before: str | None = None
    """Where it stood before that import."""
    went_on: bool = False
    """The session has branches that end in messages which the file does not have."""
    stored_overlays: dict[str, str] = field(default_factory=dict)
    overlays: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)

    @property
    def is_ours(self) -> bool:
        """All that it has comes from the file."""
        return not self.exists or (self.is_unfinished and not self.went_on)


@dataclass
class ImportPlan:
    """All sessions of a file."""

    sessions: dict[str, SessionPlan] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)
    """Ids of what overlays of forks end at and their sources have."""
