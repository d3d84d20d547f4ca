"""What all of an owner's sessions cost, by model: sums that are kept with every row of usage."""

from __future__ import annotations

from .connection import Connection

_SUMS = (
    "SELECT s.owner, u.model, count(*), sum(u.input_tokens), sum(u.output_tokens),"
    " sum(u.cached_tokens), sum(u.reasoning_tokens), sum(u.cost_micros)"
    " FROM usage u JOIN session s ON s.number = u.session GROUP BY s.owner, u.model"
)
_ADD = (
    "ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,"
    " input_tokens = input_tokens + excluded.input_tokens,"
    " output_tokens = output_tokens + excluded.output_tokens,"
    " cached_tokens = cached_tokens + excluded.cached_tokens,"
    " reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,"
    " cost_micros = cost_micros + excluded.cost_micros"
)
_ADD_CALL = f"INSERT INTO usage_total VALUES (?, ?, 1, ?, ?, ?, ?, ?) {_ADD}"
_TAKE_SESSION = (
    "INSERT INTO usage_total SELECT ?1, model, -count(*), -sum(input_tokens), -sum(output_tokens),"
    " -sum(cached_tokens), -sum(reasoning_tokens), -sum(cost_micros)"
    f" FROM usage WHERE session = ?2 GROUP BY model {_ADD}"
)
_WRONG = (
    f"WITH sums AS ({_SUMS}), wrong AS ("
    "SELECT * FROM (SELECT * FROM sums EXCEPT SELECT * FROM usage_total)"
    " UNION ALL SELECT * FROM (SELECT * FROM usage_total EXCEPT SELECT * FROM sums))"
    " SELECT DISTINCT o.name FROM wrong w LEFT JOIN owner o ON o.number = w.owner"
)


def add_call(tx: Connection, owner: int, model: str, figures: tuple[int, ...]) -> None:
    """Count a call in."""
    tx.run(_ADD_CALL, (owner, model, *figures))


def take_session(tx: Connection, owner: int, session: int) -> None:
    """Count a session's calls out, before its rows go."""
    tx.run(_TAKE_SESSION, (owner, session))
    tx.run("DELETE FROM usage_total WHERE owner = ? AND calls = 0", (owner,))


def owners_with_wrong_totals(tx: Connection) -> list[str | None]:
    """Give the owners whose totals are not the sums of their sessions' usage."""
    return [name for (name,) in tx.rows(_WRONG)]


def rebuild_totals(tx: Connection) -> None:
    """Sum all usage anew."""
    tx.run("DELETE FROM usage_total", ())
    tx.run(f"INSERT INTO usage_total {_SUMS}", ())
