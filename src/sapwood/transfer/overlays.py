"""Overlays on their way: out, their ends are named by messages; in, they are in force as they were.

Each is put where it was, and over others as it was. Lines come in the order of the format: whatever
an overlay is put over comes before it. An end may be a gap that is still to be made: it is put over
the message that stands there until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

import msgspec

from ..errors import AlreadyExistsError, ConflictError, NotFoundError
from ..model import DataVersion, EntryRef, Leaf, Overlay, Position, Read, Summary
from .lines import OverlayLine, made_of, new_overlay
from .named_session import MessageOrGap, NamedSession

OverlaySide = Literal["first", "last"]
PositionRange = tuple[Position, Position]


class OverlayEnds:
    """Finds the messages at the ends of a session's overlays, deleted or not."""

    def __init__(self, session: NamedSession, overlays: Sequence[Overlay]) -> None:
        self._session = session
        self._overlays = overlays
        self._wanted = {place for it in overlays for place in (it.first, it.last)}
        self._found: dict[Position, str] = {}

    def meet(self, found: MessageOrGap) -> None:
        """Look at a message that goes by: it may be an end."""
        if self._wanted and found.position in self._wanted:
            self._found[found.position] = found.id

    def lines(self, leaves: Sequence[Leaf]) -> Iterator[OverlayLine]:
        """Yield the overlays in the order of the format.

        Raises `NotFoundError` when a branch went while it was read.
        """
        order = sorted(self._overlays, key=lambda it: (-it.last.depth, -it.first.depth))
        for overlay in order:
            last = self._id_at(overlay.last, _near(leaves, overlay.last))
            first = self._id_at(overlay.first, [last] if last else [])
            if first is None or last is None:
                raise NotFoundError(
                    f"overlay {overlay.id!r} ends at a message that is gone meanwhile: try again",
                    kind="overlay",
                    id=overlay.id,
                )
            yield made_of(OverlayLine, overlay, first=first, last=last)

    def _id_at(self, position: Position, leaves: Sequence[str]) -> str | None:
        """Find what no walk has met: a fork's walk does not go over what it inherited."""
        for leaf in leaves if position not in self._found else ():
            found = self._session.find_at(leaf, position)
            if found is not None:
                self.meet(found)
                break
        return self._found.get(position)


def _near(leaves: Sequence[Leaf], position: Position) -> list[str]:
    """Return the leaves that may lie below a position, first those that surely do."""
    near = [leaf for leaf in leaves if leaf.position.depth >= position.depth]
    near.sort(key=lambda leaf: leaf.position.segment != position.segment)
    return [leaf.id for leaf in near]


class OverlayPutter:
    """Puts the overlays of one session in force."""

    def __init__(
        self, session: NamedSession, lines: Sequence[OverlayLine], notes: list[str]
    ) -> None:
        self._session = session
        self._store, self._owner, self._name = session
        self._lines = lines
        self._named = {line.id for line in lines}
        self._notes = notes
        self._there = self._store.list_overlays(self._owner, self._name)

    def put_where_they_fit(self) -> None:
        """Put those that are missing into a session that others have worked on; note the rest."""
        for line in self._lines:
            try:
                self._put(line, later=())
            except ConflictError as error:
                self._note(f"left out overlay {line.id!r}: {error}")

    def put_all(self) -> None:
        """Put those that are missing into a session that has no others.

        Raises `ConflictError`, and takes away none that could not be put again.
        """
        before: dict[PositionRange, Overlay] = {}
        for number, line in enumerate(self._lines, 1):
            stored = self._find(line)
            older = stored and before.get((stored.first, stored.last))
            if stored and older and self._there.index(stored) < self._there.index(older):
                # Of two over the same range the newer one is shown.
                self._take_away([stored])
            put = self._put(line, later=self._lines[number:])
            before[put.first, put.last] = put

    def _put(self, line: OverlayLine, later: Sequence[OverlayLine]) -> Overlay:
        stored = self._find(line)
        if stored is not None:
            return stored
        first, last = (self._end(line, id) for id in (line.first, line.last))
        try:
            added = self._add(line, first, last)
        except ConflictError:
            hiding = [it for it in (self._find(other) for other in later) if it is not None]
            if not hiding:
                raise
            self._take_away(hiding)
            added = self._add(line, first, last)
        self._there.append(added)
        return added

    def _find(self, line: OverlayLine) -> Overlay | None:
        """Find an overlay by its id; one that got another is known by what it says."""
        named = (it for it in self._there if it.id == line.id)
        twins = (
            it for it in self._there if it.id not in self._named and self._says_the_same(it, line)
        )
        return next(chain(named, twins), None)

    def _says_the_same(self, overlay: Overlay, line: OverlayLine) -> bool:
        if (overlay.summary, overlay.metadata) != (line.summary, line.metadata):
            return False
        ends = [self._end(line, id).position for id in (line.first, line.last)]
        return ends == [overlay.first, overlay.last]

    def _end(self, line: OverlayLine, id: str) -> MessageOrGap:
        found = self._session.find_named(id)
        if found is None or isinstance(found, DataVersion):
            raise ConflictError(f"overlay {line.id!r} ends at {id!r}, which is not there")
        return found

    def _take_away(self, overlays: Sequence[Overlay]) -> None:
        """Undo overlays that are put again in their turn; none, if one of them cannot be."""
        for overlay in overlays:
            if self._has_lost_an_end(overlay):
                raise ConflictError(
                    f"overlay {overlay.id!r} is in the way and ends at a deleted message, so that "
                    "it could not be put again: undo it, or copy to where the session is not"
                )
        for overlay in overlays:
            self._store.undo_overlay(self._owner, self._name, overlay.id)
            self._there.remove(overlay)

    def _has_lost_an_end(self, overlay: Overlay) -> bool:
        above = overlay.first.depth - 1
        return any(
            gap.position in (overlay.first, overlay.last)
            for leaf in self._store.list_leaves(self._owner, self._name)
            if leaf.position.depth >= overlay.last.depth
            for gap in self._store.list_gaps(self._owner, self._name, leaf.id, after=above)
        )

    def _add(self, line: OverlayLine, first: MessageOrGap, last: MessageOrGap) -> Overlay:
        new = msgspec.structs.replace(
            new_overlay(line),
            first=self._ref(last, first, "first"),
            last=self._ref(last, last, "last"),
        )
        try:
            return self._store.add_overlay(self._owner, self._name, new)
        except AlreadyExistsError:
            for overlay in self._store.list_overlays(self._owner, self._name):
                if overlay.id == new.id:
                    return overlay
        # Forks share a tree, and an overlay that their source has undone may be in several.
        other = msgspec.structs.replace(new, id=None)
        added = self._store.add_overlay(self._owner, self._name, other)
        self._note(f"overlay {new.id!r} got another id")
        return added

    def _ref(self, leaf: MessageOrGap, end: MessageOrGap, side: OverlaySide) -> EntryRef:
        """Name the entry that shows an end: the message, or an overlay that has that end, too."""
        depth = end.position.depth
        query = Read(leaf=leaf.id, after=depth - 1, before=depth + 1, limit=1)
        for entry in self._store.read(self._owner, self._name, query).entries:
            if isinstance(entry, Summary) and getattr(entry.overlay, side) == end.position:
                return EntryRef.of(entry)
        return EntryRef.of(end.id)

    def _note(self, what: str) -> None:
        self._notes.append(f"session {self._name!r}: {what}")
