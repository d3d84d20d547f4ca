"""Overlays that a session lets go of: they live while any session has them in force."""

from __future__ import annotations

from ..overlay_row import range_of
from .client import RedisCommand
from .context import AsyncRedisContext


async def release_overlays(
    context: AsyncRedisContext, tree: str, numbers: list[bytes]
) -> list[RedisCommand]:
    """Return the commands after which overlays are in force for one session less, or gone."""
    if not numbers:
        return []
    counts, ranges = await context.client.run_all(
        [
            ("HMGET", context.key(tree, "wr"), *numbers),
            ("HMGET", context.key(tree, "w"), *numbers),
        ]
    )
    commands: list[RedisCommand] = []
    for number, count, range in zip(numbers, counts, ranges, strict=True):
        # What somebody else has lifted meanwhile is not there any more: nothing will be applied.
        if count is not None and int(count) > 1:
            commands.append(("HINCRBY", context.key(tree, "wr"), number, -1))
            continue
        commands += [("HDEL", context.key(tree, part), number) for part in ("w", "y", "wr")]
        if range is not None:
            commands.append(("HDEL", context.key(tree, "q"), range_of(range).id))
    return commands
