"""The inspection of a tree: what must hold, and the commands that put right what is derived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....errors import StoreCorruptError, StoreError
from ....model import Problem
from ....rules.codec import decode_body
from ....rules.tree import Place, extend_lineage, place_before
from ....rules.wording import counted
from ..entries import MARK, EntryHead, split_entry
from ..rows import RedisSessionRow
from .client import AsyncRedisClient, RedisCommand
from .context import AsyncRedisContext
from .data_check import AsyncDataInspection
from .loaded_tree import LoadedTree, entries_of, load_tree

MOST_LOOKS = 50
OUT_OF_ORDER = "the keys of its documents are not in order"


class Finding(NamedTuple):
    """A problem, and the commands that put it right; none where something was lost."""

    problem: Problem
    commands: list[RedisCommand]


class AsyncTreeInspection:
    """One look at a tree."""

    def __init__(self, context: AsyncRedisContext, tree: LoadedTree) -> None:
        self._context = context
        self._tree = tree
        self._heads: dict[Place, EntryHead] = {}
        self._live: dict[str, int] = {}
        self._marks: dict[int, int] = {}
        self._lengths: dict[int, int] = {}
        self.findings: list[Finding] = []

    def _key(self, part: str) -> str:
        return self._context.key(self._tree.name, part)

    def _add(self, kind: str, where: str, what: str, *commands: RedisCommand) -> None:
        problem = Problem(kind=kind, where=where, what=what)
        self.findings.append(Finding(problem, list(commands)))

    async def look(self) -> None:
        """Look at everything, from the root down: what stands on damage is not looked at."""
        for number in sorted(self._tree.segments):
            await self._read(number)
        children = set(await self._context.client.run("ZRANGE", self._key("c"), 0, -1))
        for number in sorted(self._tree.segments):
            self._check_segment(number, children)
        for row in self._tree.rows.values():
            await self._check_session(row)
        data = AsyncDataInspection(self._context, self._tree, self._heads, self._marks, self._add)
        await data.look()
        self._check_counts(await self._context.client.run("HGETALL", self._key("wr")))

    async def _read(self, number: int) -> None:
        home = self._tree.segments[number].home
        ids = await self._context.client.run("HGETALL", self._key(f"i:{home}"))
        count = 0
        async for place, entry in entries_of(self._context, self._tree, number):
            count += 1
            try:
                head, body = split_entry(entry)
                if body:
                    decode_body(body, head.id)
                    self._live[home] = self._live.get(home, 0) + 1
                elif head.role == MARK:
                    self._marks[number] = self._marks.get(number, 0) + 1
            except StoreCorruptError as error:
                self._add("message", f"{number}.{place.depth}", str(error))
                continue
            self._heads[place] = head
            at = f"{number} {place.depth}"
            if ids.get(head.id.encode()) != at.encode():
                self._add(
                    "id",
                    f"message {head.id!r} at {number}.{place.depth}",
                    "it is not found by its id",
                    ("HSET", self._key(f"i:{home}"), head.id, at),
                )
        self._lengths[number] = count

    def _exists(self, segment: int, depth: int) -> bool:
        found = self._tree.segments.get(segment)
        return found is not None and found.above < depth <= found.above + self._lengths[segment]

    def _check_segment(self, number: int, children: set[bytes]) -> None:
        segment, where = self._tree.segments[number], f"segment {number}"
        parent = segment.lineage[0] if segment.lineage else None
        if parent is not None and not self._exists(*parent):
            self._add("parent", where, "it follows a position that is not there")
            return
        above = self._tree.lineage_of(parent.segment) if parent else []
        right = extend_lineage(parent, above)
        if segment.lineage != right:
            line = " ".join([segment.home, *(f"{s} {d}" for s, d in right)])
            command = ("HSET", self._key("g"), number, line)
            self._add("lineage", where, "its lineage is not that of its parent", command)
        over, depth = parent or (0, 0)
        member = f"{over:012d}{depth:010d}{number:012d}"
        if member.encode() not in children:
            command = ("ZADD", self._key("c"), 0, member)
            self._add("parent", where, "its parent does not know of it", command)
        if not self._lengths[number]:
            self._add("segment", where, "it is empty")
        self._check_sums(number)

    def _check_sums(self, number: int) -> None:
        segment = self._tree.segments[number]
        for depth in range(segment.above + 1, segment.above + self._lengths[number] + 1):
            place = Place(number, depth)
            above = place_before(place, self._tree.lineage_of)
            head, before = self._heads.get(place), self._heads.get(above) if above else None
            if head is None or (above is not None and before is None):
                continue
            if head.raw < (before.raw if before else 0):
                where = f"message {head.id!r} at {number}.{depth}"
                self._add("path_tokens", where, "the sum from the root is wrong")

    async def _check_session(self, row: RedisSessionRow) -> None:
        where = f"session {row.id!r}"
        for name, place in (("tip", row.tip), ("fork", row.fork)):
            if place[0] and not (self._exists(*place) and self._tree.sees(row, Place(*place))):
                self._add(name, where, f"its {name} is not there")
                return
        for number in self._tree.in_force[row.home]:
            range = self._tree.overlays.get(number)
            if range is None or not (self._exists(*range[:2]) and self._exists(*range[2:4])):
                self._add("overlay", where, "an overlay in force is not there, or has no end")
                return
        await self._check_derived(row, where)

    async def _check_derived(self, row: RedisSessionRow, where: str) -> None:
        key, client = self._key(f"s:{row.id}"), self._context.client
        own = [n for n, it in sorted(self._tree.segments.items()) if it.home == row.home]
        listed = await client.run("LRANGE", self._key(f"o:{row.home}"), 0, -1)
        if sorted(int(n) for n in listed) != own:
            commands: list[RedisCommand] = [("UNLINK", self._key(f"o:{row.home}"))]
            commands += [("RPUSH", self._key(f"o:{row.home}"), n) for n in own]
            self._add("segment", where, "its segments are not those of its home", *commands)
        live, overlays = self._live.get(row.home, 0), len(self._tree.in_force[row.home])
        for name, kind, right in (("m", "messages", live), ("ov", "overlays", overlays)):
            if int(row[name]) != right:
                what = f"it counts {row[name]} {kind}, not {right}"
                self._add(kind, where, what, ("HSET", key, name, right))
        documents = self._key(f"k:{row.number}")
        if await are_out_of_order(client, documents, self._key(f"ks:{row.number}")):
            self._add("documents", where, OUT_OF_ORDER, ("order", documents))
        if row["c"]:
            args = (row.id, self._context.directory.time(), "1")
            answer = await client.run_script("context_tokens", [self._key("t")], *args)
            if answer[0] == b"ok" and answer[3].decode() != row["c"]:
                what = f"it counts {row['c']} tokens in its context, not {answer[3].decode()}"
                self._add("context_tokens", where, what, ("HSET", key, "c", ""))

    def _check_counts(self, stored: dict[bytes, bytes]) -> None:
        counts = dict.fromkeys(self._tree.overlays, 0)
        for numbers in self._tree.in_force.values():
            for number in numbers:
                counts[number] = counts.get(number, 0) + 1
        for number, count in counts.items():
            if int(stored.get(number, b"0")) != count:
                command = ("HSET", self._key("wr"), number, count)
                where = f"overlay {self._tree.overlays[number].id!r}"
                self._add(
                    "overlay", where, f"it is in force for {counted(count, 'session')}", command
                )


async def are_out_of_order(client: AsyncRedisClient, documents: str, order: str) -> bool:
    """Whether the keys of documents that are in order are not those of the documents."""
    keys, ordered = await client.run_all([("HKEYS", documents), ("ZRANGE", order, 0, -1)])
    # Where there is no order yet, the next change makes it.
    return bool(ordered) and sorted(keys) != ordered


def still_found(before: Sequence[Finding], again: Sequence[Finding]) -> list[Finding]:
    """Return what was found twice: what others are just writing is no damage when it is done."""
    known = {(it.problem.kind, it.problem.where) for it in before}
    return [it for it in again if (it.problem.kind, it.problem.where) in known]


async def inspect(context: AsyncRedisContext, tree: str) -> tuple[LoadedTree, list[Finding]]:
    """Look for damage in a tree, again while others write to it."""
    loaded, findings = await _inspect(context, tree)
    for _ in range(MOST_LOOKS):
        if not findings or await _is_unchanged(context, loaded):
            break
        loaded, again = await _inspect(context, tree)
        findings = still_found(findings, again)
    return loaded, findings


async def _is_unchanged(context: AsyncRedisContext, tree: LoadedTree) -> bool:
    now = await context.client.run("HMGET", context.key(tree.name, "t"), "v", "a")
    return bool(now == [tree.state.get(b"v"), tree.state.get(b"a")])


async def _inspect(context: AsyncRedisContext, tree: str) -> tuple[LoadedTree, list[Finding]]:
    # One that has expired stands on what it has in force until it is deleted.
    loaded = await load_tree(context, tree, with_expired=True)
    looking = AsyncTreeInspection(context, loaded)
    try:
        await looking.look()
    except (StoreError, KeyError) as error:
        problem = Problem(kind="tree", where=tree, what=f"it does not hold together: {error}")
        looking.findings.append(Finding(problem, []))
    return loaded, looking.findings
