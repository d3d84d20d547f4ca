"""Work on usage: rows by id, so that a retry is not counted twice."""

from __future__ import annotations

from ....errors import ConflictError
from ....model import Usage, UsageTotal
from .lookup import get_session
from .tx import AsyncTx

_FIGURES = (
    "model, message, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_micros"
)
_SUMS = (
    "model, count(*), sum(input_tokens)::bigint, sum(output_tokens)::bigint,"
    " sum(cached_tokens)::bigint, sum(reasoning_tokens)::bigint, sum(cost_micros)::bigint"
)


class AsyncPostgresUsage:
    """Work on usage."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def add(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a model call once."""
        row = await get_session(self._tx, owner, session)
        fields = (
            usage.model,
            usage.message,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
            usage.cost_micros,
        )
        stored = await self._tx.row(
            f"SELECT {_FIGURES} FROM {{s}}.usage WHERE tree = %s AND session = %s AND id = %s",
            (row.tree, row.number, usage.id),
        )
        if stored is not None:
            if stored != fields:
                raise ConflictError(f"usage {usage.id!r} is recorded with other figures")
            return False
        await self._tx.run(
            f"INSERT INTO {{s}}.usage (tree, session, id, {_FIGURES})"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (row.tree, row.number, usage.id, *fields),
        )
        return True

    async def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by model."""
        text = (
            f"SELECT {_SUMS}, NULL::text FROM {{s}}.usage WHERE tree = %s AND session = %s"
            " GROUP BY model ORDER BY model"
        )
        return await self._totals(text, owner, session)

    async def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by message and model, in the order of the first calls."""
        text = (
            f"SELECT {_SUMS}, message FROM {{s}}.usage WHERE tree = %s AND session = %s"
            " GROUP BY message, model ORDER BY min(number)"
        )
        return await self._totals(text, owner, session)

    async def _totals(self, text: str, owner: str, session: str) -> list[UsageTotal]:
        row = await get_session(self._tx, owner, session)
        return [
            UsageTotal(**dict(zip(UsageTotal.__struct_fields__, it, strict=True)))
            for it in await self._tx.rows(text, (row.tree, row.number))
        ]
