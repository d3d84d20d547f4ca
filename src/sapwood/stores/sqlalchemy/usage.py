"""Work on usage: rows by id, so that a retry is not counted twice."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, cast, func, literal, select
from sqlalchemy.types import BigInteger

from ...errors import ConflictError
from ...model import Usage, UsageTotal
from .lookup import get_session
from .tables import Tables
from .tx import Statement, Tx

_SUMMED = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_micros")
_FIGURES = ("model", "message", *_SUMMED)


class SqlUsage:
    """Work on usage."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def add(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a model call once."""
        row = get_session(self._tx, owner, session)
        figures = {key: getattr(usage, key) for key in _FIGURES}
        stored = self._tx.row(_find, session=row.number, id=usage.id)
        if stored is not None:
            if tuple(stored) != tuple(figures.values()):
                raise ConflictError(f"usage {usage.id!r} is recorded with other figures")
            return False
        self._tx.add("usage", session=row.number, id=usage.id, **figures)
        return True

    def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by model."""
        found = self._totals(_by_model, owner, session)
        return sorted(found, key=lambda it: it.model.encode())

    def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by message and model, in the order of the first calls."""
        return self._totals(_by_message, owner, session)

    def _totals(self, statement: Statement, owner: str, session: str) -> list[UsageTotal]:
        row = get_session(self._tx, owner, session)
        return [
            UsageTotal(**dict(zip(UsageTotal.__struct_fields__, it, strict=True)))
            for it in self._tx.rows(statement, session=row.number)
        ]


def _find(t: Tables) -> Any:
    u = t.usage.c
    return select(*(u[key] for key in _FIGURES)).where(
        u.session == bindparam("session"), u.id == bindparam("id")
    )


def _sums(t: Tables, *more: Any) -> Any:
    u = t.usage.c
    sums = [cast(func.sum(u[key]), BigInteger) for key in _SUMMED]
    return select(u.model, func.count(), *sums, *more).where(u.session == bindparam("session"))


def _by_model(t: Tables) -> Any:
    return _sums(t, literal(None)).group_by(t.usage.c.model)


def _by_message(t: Tables) -> Any:
    u = t.usage.c
    return _sums(t, u.message).group_by(u.message, u.model).order_by(func.min(u.number))
