"""Statements about usage.

What all of an owner's sessions cost, by model, is kept as sums, with every row of usage.
"""

from __future__ import annotations

from ...model import Usage
from ..relational._sync.usage import UsageStatements, figures_of
from ..relational.rows import Row, SessionRow
from .connection import Connection

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
_TOTALS = (
    "SELECT s.owner, u.model, count(*), sum(u.input_tokens), sum(u.output_tokens),"
    " sum(u.cached_tokens), sum(u.reasoning_tokens), sum(u.cost_micros)"
    " FROM usage u JOIN session s ON s.number = u.session GROUP BY s.owner, u.model"
)
_ADD_UP = (
    "ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,"
    " input_tokens = input_tokens + excluded.input_tokens,"
    " output_tokens = output_tokens + excluded.output_tokens,"
    " cached_tokens = cached_tokens + excluded.cached_tokens,"
    " reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,"
    " cost_micros = cost_micros + excluded.cost_micros"
)
_COUNT_IN = f"INSERT INTO usage_total VALUES (?, ?, 1, ?, ?, ?, ?, ?) {_ADD_UP}"
_COUNT_OUT = (
    "INSERT INTO usage_total SELECT ?1, model, -count(*), -sum(input_tokens), -sum(output_tokens),"
    " -sum(cached_tokens), -sum(reasoning_tokens), -sum(cost_micros)"
    f" FROM usage WHERE session = ?2 GROUP BY model {_ADD_UP}"
)
_WRONG = (
    f"WITH sums AS ({_TOTALS}), wrong AS ("
    "SELECT * FROM (SELECT * FROM sums EXCEPT SELECT * FROM usage_total)"
    " UNION ALL SELECT * FROM (SELECT * FROM usage_total EXCEPT SELECT * FROM sums))"
    " SELECT DISTINCT o.name FROM wrong w LEFT JOIN owner o ON o.number = w.owner"
)


class SqliteUsageStatements(UsageStatements[Connection]):
    """Statements about usage; an owner's totals are kept."""

    def find(self, session: SessionRow, id: str) -> Row | None:
        found: Row | None = self._tx.row(_FIND, (session.number, id))
        return found

    def add(self, session: SessionRow, usage: Usage) -> None:
        model, message, *figures = figures_of(usage)
        self._tx.run(_ADD, (session.number, usage.id, model, message, *figures))
        self._tx.run(_COUNT_IN, (session.owner, model, *figures))

    def of_session(self, session: SessionRow, *, by_message: bool) -> list[Row]:
        return self._tx.rows(_BY_MESSAGE if by_message else _BY_MODEL, (session.number,))

    def of_owner(self, owner: str) -> list[Row]:
        return self._tx.rows(_OF_OWNER, (owner,))


def take_session(tx: Connection, owner: int, session: int) -> None:
    """Count a session's calls out, before its rows go."""
    tx.run(_COUNT_OUT, (owner, session))
    tx.run("DELETE FROM usage_total WHERE owner = ? AND calls = 0", (owner,))


def owners_with_wrong_totals(tx: Connection) -> list[str | None]:
    """Return the owners whose totals are not the sums of their sessions' usage."""
    return [name for (name,) in tx.rows(_WRONG)]


def rebuild_totals(tx: Connection) -> None:
    """Sum all usage anew."""
    tx.run("DELETE FROM usage_total", ())
    tx.run(f"INSERT INTO usage_total {_TOTALS}", ())
