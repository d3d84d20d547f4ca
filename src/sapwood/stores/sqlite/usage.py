"""Work on usage: rows by id, so that a retry is not counted twice."""

from __future__ import annotations

from typing import Any

from ...errors import ConflictError
from ...model import Usage, UsageTotal
from .connection import Connection
from .lookup import get_session
from .usage_totals import add_call

_SUMS = (
    "model, count(*), sum(input_tokens), sum(output_tokens), sum(cached_tokens),"
    " sum(reasoning_tokens), sum(cost_micros)"
)


class SqliteUsage:
    """Work on usage."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx

    def add(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a model call once."""
        row = get_session(self._tx, owner, session)
        figures = (
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
            usage.cost_micros,
        )
        fields = (usage.model, usage.message, *figures)
        stored = self._tx.row(
            "SELECT model, message, input_tokens, output_tokens, cached_tokens, reasoning_tokens,"
            " cost_micros FROM usage WHERE session = ? AND id = ?",
            (row.number, usage.id),
        )
        if stored is not None:
            if stored != fields:
                raise ConflictError(f"usage {usage.id!r} is recorded with other figures")
            return False
        self._tx.run(
            "INSERT INTO usage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row.number, usage.id, *fields),
        )
        add_call(self._tx, row.owner, usage.model, figures)
        return True

    def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by model."""
        sql = f"SELECT {_SUMS}, NULL FROM usage WHERE session = ? GROUP BY model ORDER BY model"
        return self._totals(sql, owner, session)

    def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by message and model, in the order of the first calls."""
        sql = (
            f"SELECT {_SUMS}, message FROM usage WHERE session = ?"
            " GROUP BY message, model ORDER BY min(number)"
        )
        return self._totals(sql, owner, session)

    def _totals(self, sql: str, owner: str, session: str) -> list[UsageTotal]:
        row = get_session(self._tx, owner, session)
        return [_total(it) for it in self._tx.rows(sql, (row.number,))]

    def totals_of_owner(self, owner: str) -> list[UsageTotal]:
        """Give the sums of all of an owner's sessions, by model."""
        rows = self._tx.rows(
            "SELECT t.model, t.calls, t.input_tokens, t.output_tokens, t.cached_tokens,"
            " t.reasoning_tokens, t.cost_micros, NULL FROM owner o"
            " JOIN usage_total t ON t.owner = o.number WHERE o.name = ? ORDER BY t.model",
            (owner,),
        )
        return [_total(it) for it in rows]


def _total(row: tuple[Any, ...]) -> UsageTotal:
    return UsageTotal(**dict(zip(UsageTotal.__struct_fields__, row, strict=True)))
