"""One pass over a session where it comes from: the lines of an export, a few hundred at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator

import msgspec

from ...model import Leaf, Position, UsageTotal
from ..export import Exported, SessionExport
from ..lines import (
    CHUNK,
    CHUNK_BYTES,
    DocumentLine,
    FileLine,
    GapLine,
    MarkLine,
    MessageLine,
    OverlayLine,
    PlaceLine,
    SessionLine,
    encode_line,
)
from .sides import Sides


class SessionSource:
    """A session as it is read now. Two passes with the same digest have read the same.

    `names` are the sessions that it may be a fork of. Raises `NotFoundError` when the session is
    gone, also in the middle.
    """

    def __init__(
        self, sides: Sides, name: str, names: set[str], awaited: Container[Position] = ()
    ) -> None:
        self._sides = sides
        self._awaited = awaited
        self._export = SessionExport(sides.here(name), Exported(names=names))
        self._lines = self._export.lines(is_optional=False)
        self._hash = hashlib.blake2b(digest_size=16)
        first = self._next()
        assert isinstance(first, SessionLine)
        self.line = first
        self.documents: dict[str, DocumentLine] = {}
        self.overlays: list[OverlayLine] = []
        self.usage: list[UsageTotal] = []
        """These two are known when all messages were read."""
        self.messages = 0
        self._ahead = self._next()
        while isinstance(self._ahead, DocumentLine):
            self.documents[self._ahead.key] = self._ahead
            self._ahead = self._next()

    @property
    def leaves(self) -> list[Leaf]:
        """The ends of its branches."""
        return self._export.leaves

    def is_awaited(self, gap: GapLine) -> bool:
        """Whether an overlay of a fork ends at a gap, and may still have to be put there."""
        return self._export.gaps[gap.id].position in self._awaited

    @property
    def digest(self) -> str:
        """Stands for all that was read so far."""
        return self._hash.hexdigest()

    def chunks(self) -> Iterator[list[PlaceLine]]:
        """Read the messages and gaps, and after the last of them the rest."""
        chunk: list[PlaceLine] = []
        size = 0
        line = self._ahead
        while isinstance(line, MessageLine | GapLine | MarkLine):
            chunk.append(line)
            size += self._size
            self.messages += isinstance(line, MessageLine)
            if len(chunk) >= CHUNK or size >= CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
            line = self._next()
        if chunk:
            yield chunk
        self._read_rest(line)

    def _read_rest(self, line: FileLine | None) -> None:
        while line is not None:
            if isinstance(line, OverlayLine):
                self.overlays.append(line)
            line = self._next()
        name = self.line.id
        self.usage = self._sides.source.total_usage(self._sides.owner, name, by="message")
        self._hash.update(msgspec.json.encode(self.usage))

    def _next(self) -> FileLine | None:
        line = next(self._lines, None)
        if line is not None:
            data = encode_line(line)
            self._size = len(data)
            self._hash.update(data)
        return line
