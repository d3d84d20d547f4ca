"""A tree as it is loaded to be looked through: all of it but what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from ....rules.tree import Place, is_on_path
from ..rows import OverlayRange, RedisSessionRow, range_of
from .context import AsyncRedisContext

ENTRIES_AT_ONCE = 500


class LoadedSegment(NamedTuple):
    """A segment's home, and its lineage."""

    home: str
    lineage: list[Place]

    @property
    def above(self) -> int:
        """The depth that its first message follows."""
        return self.lineage[0].depth if self.lineage else 0


class LoadedTree(NamedTuple):
    """All of a tree but what is said in it."""

    name: str
    state: dict[bytes, bytes]
    segments: dict[int, LoadedSegment]
    rows: dict[str, RedisSessionRow]
    """The sessions by their homes."""
    overlays: dict[bytes, OverlayRange]
    in_force: dict[str, list[bytes]]
    """The overlays of each session, by its home."""

    def lineage_of(self, segment: int) -> list[Place]:
        """Return a segment's lineage."""
        return self.segments[segment].lineage

    def is_on_path(self, place: Place, leaf: tuple[int, int]) -> bool:
        """Whether a position lies on the path to a leaf; a leaf made since is not known here."""
        is_known = leaf[0] in self.segments
        return is_known and is_on_path(place, Place(*leaf), self.lineage_of)

    def sees(self, row: RedisSessionRow, place: Place) -> bool:
        """Whether a session sees a position."""
        return self.segments[place.segment].home == row.home or self.is_on_path(place, row.fork)

    def has_kind(self, kind: str) -> bool:
        """Whether it has a session of a kind."""
        return any(row.profile.kind == kind for row in self.rows.values())

    def reported_session(self, place: Place, kind: str | None) -> RedisSessionRow | None:
        """Return the session of a message; when it is gone, the oldest that stands on it.

        None when there is none of the kind that is asked for.
        """
        home = self.rows.get(self.segments[place.segment].home)
        if home is not None:
            return home if kind in (None, home.profile.kind) else None
        told = [row for row in self.rows.values() if kind in (None, row.profile.kind)]
        heirs = [row for row in told if self.is_on_path(place, row.fork)]
        return min(heirs, key=lambda row: int(row.number), default=None)


async def load_tree(
    context: AsyncRedisContext, tree: str, *, with_expired: bool = False
) -> LoadedTree:
    """Load a tree; sessions that have expired are left out unless they are asked for."""
    state, lines, homes, ranges = await context.client.run_all(
        [("HGETALL", context.key(tree, part)) for part in ("t", "g", "m", "w")]
    )
    names = {home.decode(): id.decode() for home, id in homes.items()}
    fields = await context.client.run_all(
        [("HGETALL", context.key(tree, f"s:{id}")) for id in names.values()]
    )
    # One that was cleared meanwhile, or created again, has another home than it was found by.
    found = [RedisSessionRow(id, it) for id, it in zip(names.values(), fields, strict=True) if it]
    rows = {row.home: row for row in found}
    if not with_expired:
        now = await context.now()
        rows = {home: row for home, row in rows.items() if not row.is_expired(now)}
    members = await context.client.run_all(
        [("ZRANGE", context.key(tree, f"v:{row.number}"), 0, -1) for row in rows.values()]
    )
    return LoadedTree(
        name=tree,
        state=state,
        segments={int(n): _segment(line) for n, line in lines.items()},
        rows=rows,
        overlays={number: range_of(it) for number, it in ranges.items()},
        in_force={
            home: [member[32:] for member in found]
            for home, found in zip(rows, members, strict=True)
        },
    )


def _segment(line: bytes) -> LoadedSegment:
    home, *numbers = line.decode().split()
    pairs = [int(n) for n in numbers]
    lineage = [Place(s, d) for s, d in zip(pairs[::2], pairs[1::2], strict=True)]
    return LoadedSegment(home, lineage)


async def entries_of(
    context: AsyncRedisContext, tree: LoadedTree, segment: int
) -> AsyncIterator[tuple[Place, bytes]]:
    """Iterate over the entries of a segment, read in chunks."""
    key, start = context.key(tree.name, f"b:{segment}"), 0
    above = tree.segments[segment].above
    while True:
        chunk: list[Any] = await context.client.run(
            "LRANGE", key, start, start + ENTRIES_AT_ONCE - 1
        )
        for n, entry in enumerate(chunk, above + start + 1):
            yield Place(segment, n), entry
        start += len(chunk)
        if len(chunk) < ENTRIES_AT_ONCE:
            return
