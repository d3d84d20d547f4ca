"""What model calls cost, counted once each."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ....errors import StoreCorruptError
from ....model import Usage, UsageTotal
from ...base.refusals import usage_conflict
from .context import AsyncRedisWork

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Usage).decode


class AsyncRedisUsage(AsyncRedisWork):
    """Work on usage."""

    async def add(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a call, once."""
        look = await self._context.directory.look(owner, session)
        key = self._context.key(look.tree, f"u:{look.row.number}")
        stored = await self._context.client.run("HGET", key, usage.id)
        if stored is not None:
            if _usage_of(stored)[1] != usage:
                raise usage_conflict(usage.id)
            return False
        value = f"{look.version} ".encode() + _encode(usage)
        command = ("HSET", key, usage.id, value)
        await self._context.apply(owner, look, [command], after_appends=True)
        return True

    async def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum by model, in the order of their names."""
        totals = _totals((None, it) for it in await self._recorded(owner, session))
        return sorted(totals, key=lambda total: total.model)

    async def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum by message and model, in the order in which the first of each was recorded."""
        return _totals((it.message, it) for it in await self._recorded(owner, session))

    async def _recorded(self, owner: str, session: str) -> list[Usage]:
        """Return a session's usage in the order in which it was recorded."""
        _, (_, stored) = await self._context.directory.run_script(owner, session, "usage")
        found = [_usage_of(it) for it in stored]
        return [usage for _, usage in sorted(found, key=lambda it: it[0])]


def _usage_of(stored: bytes) -> tuple[int, Usage]:
    version, _, data = stored.partition(b" ")
    try:
        return int(version), _decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"a usage cannot be decoded: {error}") from error


def _totals(recorded: Iterable[tuple[str | None, Usage]]) -> list[UsageTotal]:
    """Sum what is recorded for messages, by message and model."""
    groups: dict[tuple[str | None, str], list[Usage]] = {}
    for message, usage in recorded:
        groups.setdefault((message, usage.model), []).append(usage)
    return [
        UsageTotal(
            message=message,
            model=model,
            calls=len(rows),
            input_tokens=sum(row.input_tokens for row in rows),
            output_tokens=sum(row.output_tokens for row in rows),
            cached_tokens=sum(row.cached_tokens for row in rows),
            reasoning_tokens=sum(row.reasoning_tokens for row in rows),
            cost_micros=sum(row.cost_micros for row in rows),
        )
        for (message, model), rows in groups.items()
    ]
