"""Statements about usage."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, cast, func, literal, select
from sqlalchemy.types import BigInteger

from ...model import Usage
from ..relational._sync.usage import UsageStatements, figures_of
from ..relational.rows import Row as UsageRow
from ..relational.rows import SessionRow
from .tables import Tables
from .tx import Statement, Tx

_SUMMED = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_micros")
_FIGURES = ("model", "message", *_SUMMED)


class SqlUsageStatements(UsageStatements[Tx]):
    """Statements about usage."""

    def find(self, session: SessionRow, id: str) -> UsageRow | None:
        found: UsageRow | None = self._tx.row(_find, session=session.number, id=id)
        return found

    def add(self, session: SessionRow, usage: Usage) -> None:
        figures = dict(zip(_FIGURES, figures_of(usage), strict=True))
        self._tx.add("usage", session=session.number, id=usage.id, **figures)

    def of_session(self, session: SessionRow, *, by_message: bool) -> list[UsageRow]:
        if by_message:
            return list(self._tx.rows(_by_message, session=session.number))
        return self._by_name(_by_model, session=session.number)

    def of_owner(self, owner: str) -> list[UsageRow]:
        return self._by_name(_of_owner, owner=owner)

    def _by_name(self, statement: Statement, **params: Any) -> list[UsageRow]:
        # Sorted here: which order a server gives depends on its collation.
        return sorted(self._tx.rows(statement, **params), key=lambda row: row[0].encode())


def _find(t: Tables) -> Any:
    u = t.usage.c
    return select(*(u[key] for key in _FIGURES)).where(
        u.session == bindparam("session"), u.id == bindparam("id")
    )


def _sums(t: Tables, *more: Any) -> Any:
    u = t.usage.c
    sums = [cast(func.sum(u[key]), BigInteger) for key in _SUMMED]
    return select(u.model, func.count(), *sums, *more)


def _by_model(t: Tables) -> Any:
    u = t.usage.c
    return _sums(t, literal(None)).where(u.session == bindparam("session")).group_by(u.model)


def _by_message(t: Tables) -> Any:
    u = t.usage.c
    found = _sums(t, u.message).where(u.session == bindparam("session"))
    return found.group_by(u.message, u.model).order_by(func.min(u.number))


def _of_owner(t: Tables) -> Any:
    o, s, u = t.owner.c, t.session.c, t.usage.c
    joined = t.owner.join(t.session, s.owner == o.number).join(t.usage, u.session == s.number)
    found = _sums(t, literal(None)).select_from(joined).where(o.name == bindparam("owner"))
    return found.group_by(u.model)
