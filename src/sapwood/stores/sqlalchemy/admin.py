"""Work on the store as a whole: health, owners, and the search for damage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import exists, func, or_, select

from ...errors import StoreCorruptError
from ...model import Health, Problem
from ...rules.codec import decode_body
from ...rules.tree import extend_lineage
from ..relational.position import pack_lineage, unpack_place
from ..relational.problems import (
    misplaced_overlay,
    segment_problem,
    session_problem,
    wrong_figures,
    wrong_sum,
)
from ..relational.rows import SessionRow
from .lookup import id_at
from .repair import force_faults, pages_of_messages, repair, segments, wrong_sums
from .session_figures import all_sessions, count_in_force, count_live, running_at
from .sums import context_at
from .tables import Tables
from .tx import Tx


class SqlAdmin:
    """Work on the store as a whole."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def health(self) -> Health:
        """Return which store this is."""
        dialect: Any = self._tx.conn.dialect
        version = ".".join(str(part) for part in dialect.server_version_info or ())
        return Health(store=f"sqlalchemy+{dialect.name}", version=version, writable=True)

    def schema_version(self) -> int:
        """Return the schema's version."""
        return self._tx.value(_version) or 0

    def owners(self) -> list[str]:
        """List the owners."""
        return sorted((name for (name,) in self._tx.rows(_owners)), key=str.encode)

    def repair(self) -> None:
        """Rebuild what is derived."""
        repair(self._tx)

    def check(self) -> list[Problem]:
        """Look for damage, and for figures that do not add up."""
        problems = [*self._messages(), *self._segments()]
        problems += map(wrong_sum, wrong_sums(self._tx))
        problems += [misplaced_overlay(number) for _, number, _, _ in force_faults(self._tx)]
        # The figures of sessions add up along segments that are known to be whole.
        return problems or list(self._sessions())

    def _messages(self) -> Iterator[Problem]:
        for rows in pages_of_messages(self._tx):
            for _, _, id, body in rows:
                try:
                    decode_body(body, id)
                except StoreCorruptError as error:
                    yield Problem(kind="message", where=id, what=str(error))

    def _segments(self) -> Iterator[Problem]:
        for number, tree, parent, data in self._tx.rows(segments):
            place = unpack_place(parent)
            if place and id_at(self._tx, tree, parent) is None:
                yield segment_problem(number, "its parent is missing")
                continue
            try:
                above = self._tx.lineage(place.segment) if place else []
            except StoreCorruptError as error:
                yield segment_problem(number, str(error))
                continue
            if data != pack_lineage(extend_lineage(place, above)):
                yield segment_problem(number, "its lineage is wrong")

    def _sessions(self) -> Iterator[Problem]:
        for row in map(SessionRow._make, self._tx.rows(all_sessions)):
            if row.tip and id_at(self._tx, row.tree, row.tip) is None:
                yield session_problem(row, "its tip is missing")
                continue
            live = self._tx.value(count_live, tree=row.tree, home=row.home)
            in_force = self._tx.value(count_in_force, session=row.number)
            yield from wrong_figures(row, live, in_force, context_at(self._tx, row, row.tip))
            if row.ends and row.running != self._tx.value(running_at, tree=row.tree, pos=row.tip):
                yield session_problem(row, "its running sum is not that of its tip")


def _version(t: Tables) -> Any:
    return select(func.max(t.migration.c.version))


def _owners(t: Tables) -> Any:
    o, s, d = t.owner.c, t.session.c, t.document.c
    sessions = exists().where(s.owner == o.number)
    return select(o.name).where(or_(sessions, exists().where(d.owner == o.number)))
