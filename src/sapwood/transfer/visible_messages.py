"""What the sessions of a file see: their own messages, and for a fork the path that it inherits.

Only of sessions that forks come out of more than the ids are kept.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from .lines import MAX_LINE_BYTES, Origin, SessionLine

ParentIds = dict[str, str | None]


class _ForkLine(msgspec.Struct):
    """As much of a line as tells the sources of forks."""

    kind: str = ""
    fork: Origin | None = None


class VisibleMessages:
    """The messages that the session which is being read sees."""

    def __init__(self, sources: set[str]) -> None:
        self._sources = sources
        self._kept: dict[str, ParentIds] = {}
        self._own: ParentIds = {}
        self._is_source = False
        self.inherited: ParentIds = {}
        self.is_origin_known = True

    def begin(self, line: SessionLine) -> None:
        """Go on to a session."""
        self._own, self.inherited, self.is_origin_known = {}, {}, True
        if line.fork is not None:
            above = self._kept.get(line.fork.session, {})
            self.is_origin_known = line.fork.message in above
            self.inherited = _path(above, line.fork.message)
        self._is_source = line.id in self._sources
        if self._is_source:
            self._kept[line.id] = self._own
            self._own.update(self.inherited)

    def add(self, id: str, parent: str | None) -> None:
        """Add a message of the session's own."""
        self._own[id] = parent if self._is_source else None

    def __contains__(self, id: str) -> bool:
        """Whether the session sees a message."""
        return id in self._own or id in self.inherited


def sources_of(file: BinaryIO) -> set[str]:
    """Find the sessions that forks come out of; lines that are wrong are passed over."""
    decode = msgspec.json.Decoder(_ForkLine).decode
    sources: set[str] = set()
    file.seek(0)
    while data := file.readline(MAX_LINE_BYTES):
        if b'"fork"' not in data:
            continue
        try:
            line = decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        if line.kind == "session" and line.fork is not None:
            sources.add(line.fork.session)
    return sources


def _path(parents: ParentIds, last: str) -> ParentIds:
    path: ParentIds = {}
    at: str | None = last
    while at is not None and at in parents and at not in path:
        path[at] = parents[at]
        at = parents[at]
    return path
