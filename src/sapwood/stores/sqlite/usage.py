"""Statements about usage."""

from __future__ import annotations

from ...model import Usage
from ..relational._sync.usage import UsageStatements, figures_of
from ..relational.rows import Row, SessionRow
from .connection import Connection
from .usage_totals import add_call

_FIGURES = (
    "model, message, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_micros"
)
_SUMS = (
    "model, count(*), sum(input_tokens), sum(output_tokens), sum(cached_tokens),"
    " sum(reasoning_tokens), sum(cost_micros)"
)
_FIND = f"SELECT {_FIGURES} FROM usage WHERE session = ? AND id = ?"
_ADD = f"INSERT INTO usage (session, id, {_FIGURES}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_BY_MODEL = f"SELECT {_SUMS}, NULL FROM usage WHERE session = ? GROUP BY model ORDER BY model"
_BY_MESSAGE = (
    f"SELECT {_SUMS}, message FROM usage WHERE session = ?"
    " GROUP BY message, model ORDER BY min(number)"
)
_OF_OWNER = (
    "SELECT t.model, t.calls, t.input_tokens, t.output_tokens, t.cached_tokens,"
    " t.reasoning_tokens, t.cost_micros, NULL FROM owner o"
    " JOIN usage_total t ON t.owner = o.number WHERE o.name = ? ORDER BY t.model"
)


class SqliteUsageStatements(UsageStatements[Connection]):
    """Statements about usage; an owner's totals are kept."""

    def find(self, session: SessionRow, id: str) -> Row | None:
        found: Row | None = self._tx.row(_FIND, (session.number, id))
        return found

    def add(self, session: SessionRow, usage: Usage) -> None:
        model, message, *figures = figures_of(usage)
        self._tx.run(_ADD, (session.number, usage.id, model, message, *figures))
        add_call(self._tx, session.owner, model, tuple(figures))

    def of_session(self, session: SessionRow, *, by_message: bool) -> list[Row]:
        return self._tx.rows(_BY_MESSAGE if by_message else _BY_MODEL, (session.number,))

    def of_owner(self, owner: str) -> list[Row]:
        return self._tx.rows(_OF_OWNER, (owner,))
