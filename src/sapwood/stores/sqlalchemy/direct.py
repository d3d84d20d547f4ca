"""Statements as the driver takes them, for the calls that are made most.

SQLAlchemy writes their text once, for the database and the names at hand. What it does besides, for
each statement and each value, takes as long as a round trip; here there is nothing left to do,
since names are given as the database keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import exc, literal_column
from sqlalchemy.engine import Connection, CursorResult, Dialect


class Compound(NamedTuple):
    """Statements that are sent as one: a text with a pair of braces for each of them.

    A value has the same name in all of them; what never changes stands in their text.
    """

    text: str
    statements: Sequence[Any]


class Direct(NamedTuple):
    """A text, the order of its values unless they go by name, and those that never change."""

    text: str
    order: tuple[str, ...] | None
    fixed: Mapping[str, Any]

    @classmethod
    def of(cls, statement: Any, dialect: Dialect) -> Direct:
        """Write a statement down, or a compound of them."""
        if not isinstance(statement, Compound):
            compiled = statement.compile(dialect=dialect)
            order = tuple(compiled.positiontup) if dialect.positional else None
            return cls(str(compiled), order, compiled.params)
        parts = [cls.of(part, dialect) for part in statement.statements]
        order = tuple(name for part in parts for name in part.order or ())
        fixed = {name: value for part in parts for name, value in part.fixed.items()}
        text = statement.text.format(*(part.text for part in parts))
        return cls(text, order if dialect.positional else None, fixed)

    def run(self, conn: Connection, values: Mapping[str, Any]) -> CursorResult[Any]:
        """Run it with values."""
        return conn.exec_driver_sql(self.text, self._given(values))

    def run_compound(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        """Run a compound that commits and gives one row last; SQLAlchemy would commit once more."""
        try:
            cursor = conn.connection.cursor()
            cursor.execute(self.text, self._given(values))
            row = cursor.fetchall()[0]
            # After what a compound gives comes that it is over.
            cursor.nextset()
            cursor.close()
        except conn.dialect.loaded_dbapi.Error as error:
            raise _undone(conn, error) from error
        except BaseException as error:
            # It was interrupted: nobody knows where on the wire.
            conn.invalidate(error)
            raise
        return row

    def _given(self, values: Mapping[str, Any]) -> Any:
        given = {**self.fixed, **values}
        return given if self.order is None else tuple([given[name] for name in self.order])


def _undone(conn: Connection, error: Exception) -> Exception:
    """Roll back what failed on the way; return SQLAlchemy's error."""
    is_lost = False
    try:
        conn.exec_driver_sql("ROLLBACK")
    except exc.SQLAlchemyError:
        # Mostly it has found out that the connection is gone, and given up the others, too.
        conn.invalidate(error)
        is_lost = True
    base = conn.dialect.loaded_dbapi.Error
    return exc.DBAPIError.instance(
        None, None, error, base, connection_invalidated=is_lost, dialect=conn.dialect
    )


def number(value: int) -> Any:
    """Return a number that stands in the text, and so costs nothing to hand over."""
    return literal_column(str(value))


def has_compounds(dialect: Any) -> bool:
    """Whether the database takes a compound of statements as one."""
    return bool(getattr(dialect, "is_mariadb", False))
