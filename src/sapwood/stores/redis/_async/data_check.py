"""The inspection of a tree's data: what must hold, and what puts right where versions stand."""

from __future__ import annotations

from collections.abc import Callable

from ....errors import StoreCorruptError
from ....rules.codec import decode_json
from ....rules.tree import Place, place_before
from ..entries import EntryHead, split_entry
from ..rows import RedisSessionRow
from .client import RedisCommand
from .context import AsyncRedisContext
from .loaded_tree import LoadedTree


class AsyncDataInspection:
    """One look at the data of a tree, whose positions were looked at."""

    def __init__(
        self,
        context: AsyncRedisContext,
        tree: LoadedTree,
        heads: dict[Place, EntryHead],
        marks: dict[int, int],
        add: Callable[..., None],
    ) -> None:
        self._context = context
        self._tree = tree
        self._heads = heads
        self._marks = marks
        self._add = add
        self._right: dict[Place, str] = {}
        """Where the data stands that holds at positions."""

    def _key(self, part: str) -> str:
        return self._context.key(self._tree.name, part)

    async def look(self) -> None:
        """Look at all versions, and at who says where they stand."""
        depths: dict[int, list[int]] = {}
        for place in sorted(self._heads):
            depths.setdefault(place.segment, []).append(place.depth)
        for segment in sorted(self._tree.segments):
            await self._check_segment(segment, depths.get(segment, []))
        for row in self._tree.rows.values():
            self._check_session(row)
        await self._check_marks()

    async def _check_segment(self, segment: int, depths: list[int]) -> None:
        key = self._key(f"d:{segment}")
        stored: dict[bytes, bytes] = await self._context.client.run("HGETALL", key)
        versions = {int(depth): version for depth, version in stored.items()}
        for depth in depths:
            await self._check_position(Place(segment, depth), versions.pop(depth, None))
        for depth in versions:
            self._add("data", f"{segment}.{depth}", "its position is missing")

    async def _check_position(self, place: Place, version: bytes | None) -> None:
        above = place_before(place, self._tree.lineage_of)
        if above is not None and above not in self._right:
            return
        before = self._right[above] if above is not None else ""
        head, own = self._heads[place], f"{place.segment} {place.depth}"
        where = f"{place.segment}.{place.depth}"
        if version is None and own == head.data:
            self._add("data", where, "it is not there")
        self._right[place] = right = before
        if version is not None or own == head.data:
            self._right[place] = right = own
        if head.data != right:
            what = "what says where its data stands is wrong"
            self._add("data", where, what, *await self._said_right(place, right))
        if version is not None:
            self._check_version(place, version, before)

    def _check_version(self, place: Place, version: bytes, before: str) -> None:
        where = f"{place.segment}.{place.depth}"
        previous, _, value = version.partition(b"\n")
        try:
            decode_json(value, f"the data at {where}")
        except StoreCorruptError as error:
            self._add("data", where, str(error))
        if previous != before.encode():
            command = ("HSET", self._key(f"d:{place.segment}"), place.depth)
            right = before.encode() + b"\n" + value
            self._add("data", where, "the version before it is another one", (*command, right))

    async def _said_right(self, place: Place, right: str) -> list[RedisCommand]:
        """Return the command after which an entry says where its data stands."""
        key = self._key(f"b:{place.segment}")
        index = place.depth - self._tree.segments[place.segment].above - 1
        entry = await self._context.client.run("LINDEX", key, index)
        if entry is None:
            return []  # it was cut meanwhile
        head, body = split_entry(entry)
        return [("LSET", key, index, head._replace(data=right).with_body(body))]

    def _check_session(self, row: RedisSessionRow) -> None:
        segment, depth = row.tip
        right = self._right.get(Place(segment, depth)) if segment else ""
        if right is not None and row.data != right:
            what = "what says where its data stands is wrong"
            command = ("HSET", self._key(f"s:{row.id}"), "da", right)
            self._add("data", f"session {row.id!r}", what, command)

    async def _check_marks(self) -> None:
        stored = await self._context.client.run("HGETALL", self._key("dm"))
        for segment in self._tree.segments:
            count = self._marks.get(segment, 0)
            if int(stored.get(str(segment).encode(), b"0")) != count:
                command = ("HSET", self._key("dm"), segment, count)
                self._add("marks", f"segment {segment}", f"it has {count} marks", command)
