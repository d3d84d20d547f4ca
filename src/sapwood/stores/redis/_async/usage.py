"""What model calls cost, counted once each."""

from __future__ import annotations

import msgspec

from ....errors import StoreCorruptError
from ....model import Usage, UsageTotal
from ...base.refusals import usage_conflict
from ..usage_totals import by_message, by_model
from .context import AsyncRedisContext

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Usage).decode


class AsyncRedisUsage:
    """Work on usage."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self._context = context

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
        """Sum by model."""
        return by_model(await self._recorded(owner, session))

    async def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum by message."""
        return by_message(await self._recorded(owner, session))

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
