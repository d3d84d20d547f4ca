"""An answer that comes in pieces: what there is of it, and when it is to be stored."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import UsageError
from ..model import Part, ReasoningPart, TextPart
from ..rules.wording import a_kind

INTERVAL_S = 1.0
"""How long a piece waits at least, so that a quick answer is one write, and a long one is one of
these every so often."""
LEAST_SIZE = 16 * 1024
"""So many characters more are stored without waiting: a fast answer must not lose much."""
SHARE = 4
"""More than that if it is less than one part in so many of what is there, since it is all written
again."""


class PartialAnswer:
    """Gathers the pieces. Each method that adds one returns whether it is time to save."""

    def __init__(self, interval_s: float, clock: Callable[[], float]) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._parts: list[Part] = []
        self._pieces: list[str] = []
        self._kind: type[TextPart | ReasoningPart] = TextPart
        self._unsaved = 0
        self._limit = LEAST_SIZE
        self._size = 0
        self._due_at: float | None = None

    def add_text(self, text: str) -> bool:
        """Add to what it says; return whether it is time to save."""
        return self._add(TextPart, text)

    def add_reasoning(self, text: str) -> bool:
        """Add to what the model thinks; return whether it is time to save."""
        return self._add(ReasoningPart, text)

    def add_part(self, part: Part) -> bool:
        """Add a whole part, as a finished tool call; return whether it is time to save."""
        if not isinstance(part, Part):
            raise UsageError(f"part is {a_kind(part)}: give a part", path="part")
        self._close()
        self._parts.append(part)
        return self._is_due(1)

    def restart(self) -> None:
        """Forget all that was added: the answer begins anew. What is stored stays until then."""
        self._parts, self._pieces = [], []

    @property
    def parts(self) -> list[Part]:
        """All that there is by now."""
        text = "".join(self._pieces)
        if len(self._pieces) > 1:
            self._pieces = [text]
        return [*self._parts, self._kind(text=text)] if text else list(self._parts)

    @property
    def is_saved(self) -> bool:
        """Whether there is nothing new since it was last saved."""
        return self._unsaved == 0

    def _add(self, kind: type[TextPart | ReasoningPart], text: str) -> bool:
        if type(text) is not str:
            raise UsageError(f"a piece is {a_kind(text)}: give a string", path="text")
        if kind is not self._kind:
            self._close()
            self._kind = kind
        self._pieces.append(text)
        return self._is_due(len(text))

    def _close(self) -> None:
        self._parts = self.parts
        self._pieces = []

    def _is_due(self, size: int) -> bool:
        self._unsaved += size
        if self._due_at is None:
            self._due_at = self._clock() + self._interval_s
            return False
        return self._unsaved >= self._limit or self._clock() >= self._due_at

    def _grow(self, size: int) -> bool:
        """Note that there is so much more; return whether somebody has to look when to save it."""
        before = self._unsaved
        self._unsaved = more = before + size
        if self._due_at is None:
            self._due_at = self._clock() + self._interval_s
        return before == 0 or more >= self._limit or self._clock() >= self._due_at

    def _wait_s(self) -> float | None:
        """Return how long what is new may wait; None when nothing is new."""
        if self._unsaved == 0 or self._due_at is None:
            return None
        return 0 if self._unsaved >= self._limit else max(0, self._due_at - self._clock())

    def _saved(self, unsaved: int) -> None:
        """Note that what was unsaved when a write began is stored."""
        self._unsaved -= unsaved
        self._size += unsaved
        self._limit = max(LEAST_SIZE, self._size // SHARE)
        self._due_at = self._clock() + self._interval_s
