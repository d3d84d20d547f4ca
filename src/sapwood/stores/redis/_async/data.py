"""Work on data at positions.

Every entry says where the data stands that holds at it. The versions themselves are beside the
entries, by segment and depth, each with the place of the one before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ....errors import StoreCorruptError
from ....model import DataVersion, Position, Root
from ....rules.append_plan import refuse_stale_tip
from ....rules.codec import decode_json, encode_json
from ....rules.data import without_field
from ...base.refusals import no_position
from ..entries import MARK, EntryHead, position_of, split_entry
from ..look import Look, TreeState
from ..rows import id_or_root
from .client import RedisCommand
from .context import AsyncRedisContext, AsyncRedisWork, MovedError

_DEEPEST = 9_999_999_999


class AsyncRedisData(AsyncRedisWork):
    """Work on data at positions."""

    async def versions(
        self, owner: str, session: str, position: Position, most: int
    ) -> list[DataVersion]:
        """Return the versions at and above a position, the newest first."""
        place = (position.segment, min(position.depth, _DEEPEST))
        _, answer = await self._context.directory.run_script(
            owner, session, "list_data", *place, most
        )
        if answer[0] == b"none":
            raise no_position(session, position)
        return [_version(it) for it in answer[1]]

    async def erase(self, owner: str, session: str, field: str) -> int:
        """Take a field out of all versions that the session sees."""
        # All values are encoded alike, so that those that have it have this text, too.
        text = encode_json(field, "field") + b":"
        tree, (_, counts, found) = await self._context.directory.run_script(
            owner, session, "data_with", text
        )
        commands: list[RedisCommand] = []
        for segment, depth, version in found:
            previous, _, value = version.partition(b"\n")
            left = without_field(value, field)
            if left is not value:
                key = self._context.key(tree, f"d:{segment}")
                commands.append(("HSET", key, depth, previous + b"\n" + left))
        if commands:
            state = TreeState(tree, *map(int, counts))
            await self._context.apply(owner, state, commands, after_appends=True, only_frees=True)
        return len(commands)


def _version(found: Sequence[Any]) -> DataVersion:
    segment, depth, id, created, stored = found
    previous, _, value = stored.partition(b"\n")
    return DataVersion(
        position=Position(str(segment), depth),
        value=decode_json(value, f"the data at {segment}.{depth}"),
        previous=position_of(previous.decode()),
        id=id.decode(),
        created_us=int(created),
    )


async def versions_among(
    context: AsyncRedisContext, look: Look, segment: int, first: int, entries: Sequence[bytes]
) -> dict[int, bytes]:
    """Return the versions that stand at entries of a segment themselves, by depth."""
    depths = [
        depth
        for depth, entry in enumerate(entries, first)
        if split_entry(entry)[0].data == f"{segment} {depth}"
    ]
    return await _versions_at(context, look, segment, depths) if depths else {}


async def versions_of(
    context: AsyncRedisContext, tree: str, segment: int, first: int, entries: Sequence[bytes]
) -> list[DataVersion]:
    """Return the versions that stand at entries of a segment themselves, but what is gone since."""
    heads = {depth: split_entry(entry)[0] for depth, entry in enumerate(entries, first)}
    own = [depth for depth, head in heads.items() if head.data == f"{segment} {depth}"]
    if not own:
        return []
    values = await context.client.run("HMGET", context.key(tree, f"d:{segment}"), *own)
    return [
        _version((segment, depth, heads[depth].id.encode(), heads[depth].created_us, value))
        for depth, value in zip(own, values, strict=True)
        if value is not None
    ]


async def _versions_at(
    context: AsyncRedisContext, look: Look, segment: int, depths: Sequence[int]
) -> dict[int, bytes]:
    version, found = await context.client.run_all(
        [
            ("HGET", context.key(look.tree, "t"), "v"),
            ("HMGET", context.key(look.tree, f"d:{segment}"), *depths),
        ]
    )
    if None in found:
        if version != str(look.version).encode():
            raise MovedError(look.tree)  # it was swept meanwhile
        where = f"{segment}.{depths[found.index(None)]}"
        raise StoreCorruptError(f"the data at {where} is not there")
    return dict(zip(depths, found, strict=True))


async def value_at_tip(context: AsyncRedisContext, look: Look) -> bytes:
    """Return the data that holds at a session's tip, where there is some."""
    segment, depth = map(int, look.row.data.split(" "))
    versions = await _versions_at(context, look, segment, [depth])
    return versions[depth].partition(b"\n")[2]


def begin_with_mark(
    context: AsyncRedisContext, look: Look, home: int, id: str, value: bytes
) -> tuple[list[RedisCommand], dict[str, Any]]:
    """Return the commands that begin a new home with a mark, and what changes in the record."""
    segment = look.segments + 1
    place = f"{segment} 1"
    entry = EntryHead(0, 1, look.now, 0, place, MARK, id).with_body(b"")
    parts: list[tuple[Any, ...]] = [
        ("RPUSH", f"b:{segment}", entry),
        ("HSET", f"i:{home}", id, place),
        ("HSET", f"d:{segment}", 1, b"\n" + value),
        ("HSET", "dm", segment, 1),
        ("HSET", "t", "n", segment),
        ("HSET", "g", segment, home),
        ("ZADD", "c", 0, f"{0:012d}{0:010d}{segment:012d}"),
        ("RPUSH", f"o:{home}", segment),
    ]
    commands: list[RedisCommand] = [
        (name, context.key(look.tree, part), *rest) for name, part, *rest in parts
    ]
    return commands, {"tip": f"{place} 0 1", "ti": id, "da": place}


async def refuse_other_tip(
    context: AsyncRedisContext, look: Look, expected: str | Root | None
) -> None:
    """Refuse a write that was decided on another tip; only marks may follow it."""
    if expected is not None:
        refuse_stale_tip(look.row.tip_id, expected, await marked(context, look, [expected]))


async def marked(
    context: AsyncRedisContext, look: Look, expected: Collection[str | Root]
) -> list[str | Root]:
    """Return the places that only marks follow, up to the tip, where none expected is the tip."""
    segment, depth = look.row.tip
    if look.row.tip_id in expected or look.row.data != f"{segment} {depth}":
        return []
    key, args = context.keys.tree(look.tree), (look.row.id, context.directory.time())
    answer = await context.client.run_script("tip_marks", [key], *args)
    if answer[0] == b"gone":
        raise MovedError(look.tree)
    return [id_or_root(it) for it in answer[1]]
