"""Bringing the tables up to date: one process at a time, each step recorded.

MariaDB commits each statement that makes a table by itself: so a step is made of statements that
do nothing when they were done before, and is recorded when all of them are.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    DefaultClause,
    Inspector,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateColumn

from ...errors import (
    MigrationNeededError,
    SchemaError,
    SchemaTooNewError,
    StoreBusyError,
)
from ...rules.ids import MAX_KEY_BYTES
from .admin import counted_up
from .column_types import KeyName, Name
from .listing import list_earlier
from .locks import Mode, advisory_number, begin, now_us
from .tables import NAMES, THEIRS, Tables
from .tx import Statements, Tx

VERSION = 4
LOCK_S = 60
# What the second step does to the table of profiles.
RENAMED = {"attributes": "data"}
ADDED = ("model", "source", "end_reason")
# What later steps add to tables.
LATER: dict[int, dict[str, tuple[str, ...]]] = {
    3: {"session": ("closed",), "document": ("inherit",)},
    4: {
        "document": ("created_at",),
        "session": (
            *("has_data", "data_at", "data_before"),
            *("kind", "updated_at", "updated_s", "state"),
        ),
        "segment": ("data_at",),
        "profile": ("system", "system_key", "title_key"),
    },
}
LATER_TABLES = {4: ("data", "tag")}
# Indexes of sessions in place of which there are others.
_EARLIER_INDEXES = ("by_activity", "by_age")
LATER_NAMES = {3: "0003_units", 4: "0004_layers"}
_WITHOUT_TRANSACTIONS = {"MyISAM", "Aria", "MEMORY", "CSV", "ARCHIVE"}


class SchemaStep(NamedTuple):
    """One step of the schema."""

    version: int
    name: str
    checksum: str


def steps_of(t: Tables) -> list[SchemaStep]:
    """Return the steps that this version of sapwood knows; tables may have any names."""
    keys, later = {name: _our_keys(t, name) for name in NAMES}, list[SchemaStep]()
    for version in sorted(LATER, reverse=True):
        later.append(SchemaStep(version, LATER_NAMES[version], _checksum(keys)))
        keys = {
            name: [it for it in of_table if it not in LATER[version].get(name, ())]
            for name, of_table in keys.items()
            if name not in LATER_TABLES.get(version, ())
        }
    profile = [RENAMED.get(key, key) for key in keys["profile"] if key not in ADDED]
    return [
        SchemaStep(1, "0001_initial", _checksum(keys | {"profile": profile})),
        SchemaStep(2, "0002_attributes", _checksum(keys)),
        *reversed(later),
    ]


def _checksum(keys: dict[str, list[str]]) -> str:
    text = ";".join(f"{name}:{','.join(of_table)}" for name, of_table in keys.items())
    return hashlib.sha256(text.encode()).hexdigest()


def _our_keys(t: Tables, name: str) -> list[str]:
    return [it.key for it in t.of(name).c if not it.key.startswith(THEIRS)]


class Migrator:
    """Looks at the tables of a database, and brings them up to date."""

    def __init__(self, conn: Connection, tables: Tables) -> None:
        self._conn = conn
        self._tables = tables

    def make_ready(self, *, may_migrate: bool) -> None:
        """Refuse tables that cannot be used, and bring those that can up to date."""
        if not self._steps_left():
            return
        if not may_migrate:
            raise MigrationNeededError(
                "the tables are not there or are older than this sapwood: call admin.migrate()"
            )
        self.migrate()

    def migrate(self) -> int:
        """Take the steps that are left; give the version that was reached."""
        if self._steps_left():
            self._conn.rollback()
            self._lock()
            try:
                # Another process may have been first while this one waited for the lock.
                if left := self._steps_left():
                    self._change_tables({step.version for step in left})
                    self._record(left)
                self._conn.commit()
            finally:
                self._unlock()
        return VERSION

    def _lock(self) -> None:
        kind = self._tables.kind
        begin(self._conn, kind, Mode.WRITE)
        if kind == "postgresql":
            self._conn.execute(select(func.pg_advisory_xact_lock(self._number())))
        elif kind == "mysql":
            got = self._conn.execute(select(func.get_lock(self._name(), LOCK_S))).scalar()
            if got != 1:
                raise StoreBusyError("another process has been making tables for long: try again")

    def _unlock(self) -> None:
        if self._tables.kind == "mysql" and not self._conn.invalidated:
            self._conn.execute(select(func.release_lock(self._name())))

    def _number(self) -> int:
        return advisory_number("sapwood migration", self._name())

    def _name(self) -> str:
        table = self._tables.migration
        words = f"{self._conn.engine.url.database} {table.schema} {table.name}"
        return f"sapwood {hashlib.sha256(words.encode()).hexdigest()[:40]}"

    def _change_tables(self, left: set[int]) -> None:
        """Take the steps that are left, all at once."""
        t = self._tables
        if t.metadata.schema and t.kind == "postgresql":
            quoted = self._conn.dialect.identifier_preparer.quote(t.metadata.schema)
            self._conn.execute(text(f"CREATE SCHEMA IF NOT EXISTS {quoted}"))
        t.metadata.create_all(self._conn, tables=t.all, checkfirst=True)
        for version in sorted(left & LATER.keys()):
            self._add_columns(version, is_new=1 in left)
        if 4 in left and t.kind == "mysql":
            self._let_keys_be_longer()
        self._change_profiles()
        if t.kind == "mysql" or 4 in left:
            # Of columns that came later; and a process that ended on the way, where each statement
            # is committed by itself, may have left tables without theirs.
            for index in [index for table in t.all for index in table.indexes]:
                index.create(self._conn, checkfirst=True)
        if 4 in left:
            self._drop_indexes()
        _begin_counting(self._conn, t)

    def _drop_indexes(self) -> None:
        table, prepare = self._tables.session, self._conn.dialect.identifier_preparer
        there = {it["name"] for it in inspect(self._conn).get_indexes(table.name, table.schema)}
        for name in {f"{table.name}_{it}" for it in _EARLIER_INDEXES} & there:
            where, quoted = "", prepare.quote(str(name))
            if self._tables.kind == "mysql":
                where = f" ON {prepare.format_table(table)}"
            elif table.schema:
                quoted = f"{prepare.quote_schema(table.schema)}.{quoted}"
            self._conn.execute(text(f"DROP INDEX {quoted}{where}"))

    def _record(self, steps: list[SchemaStep]) -> None:
        m = self._tables.migration
        now = self._conn.execute(now_us(self._tables.kind)).scalar()
        done = [step._asdict() | {"applied_at": now} for step in steps]
        self._conn.execute(insert(m), done)
        self._conn.execute(delete(m).where(m.c.version < 0))

    def _change_profiles(self) -> None:
        """Give profiles that were made by the first step the columns of the second."""
        profile = self._tables.profile
        there = self._columns_of(profile)
        missing = [key for key in (*RENAMED, *ADDED) if profile.c[key].name.lower() not in there]
        for key in ADDED:
            # The renaming comes first: as long as it is to come, none of these can be ours.
            if set(RENAMED) & set(missing) and key not in missing:
                raise _is_theirs("profile", profile.c[key])
        for key in missing:
            if key in RENAMED:
                to = self._conn.dialect.identifier_preparer.quote(profile.c[key].name)
                self._alter(profile, f"RENAME COLUMN {RENAMED[key]} TO {to}")
            else:
                self._add(profile.c[key])

    def _add_columns(self, version: int, *, is_new: bool) -> None:
        """Give tables that were made by earlier steps the columns of a later one.

        That it was begun is kept: then columns that are there are ours. It is kept under a negative
        version, which is never the newest, and which no older process takes for a step.
        """
        m, begun = self._tables.migration, -version
        added = LATER[version].items()
        columns = [(name, self._tables.of(name).c[key]) for name, keys in added for key in keys]
        missing = [it for _, it in columns if not self._is_there(it)]
        is_begun = self._conn.execute(select(m.c.version).where(m.c.version == begun)).first()
        if not (is_new or is_begun):
            for name, column in columns:
                if column not in missing:
                    raise _is_theirs(name, column)
            # Where each column is committed by itself, this is with the first of them.
            mark = {"version": begun, "name": f"{LATER_NAMES[version]}, begun", "checksum": ""}
            self._conn.execute(insert(m).values(applied_at=0, **mark))
        for column in missing:
            self._add(column)

    def _let_keys_be_longer(self) -> None:
        """Give the keys of documents the room that they have now; what is there stays."""
        key = self._tables.document.c.key
        spec = CreateColumn(key).compile(dialect=self._conn.dialect)
        self._alter(key.table, f"MODIFY COLUMN {spec}")

    def _is_there(self, column: Column[Any]) -> bool:
        return column.name.lower() in self._columns_of(column.table)

    def _columns_of(self, table: Any) -> set[str]:
        found = inspect(self._conn).get_columns(table.name, table.schema)
        return {it["name"].lower() for it in found}

    def _add(self, column: Column[Any]) -> None:
        spec = CreateColumn(column).compile(dialect=self._conn.dialect)
        self._alter(column.table, f"ADD COLUMN {spec}")

    def _alter(self, table: Any, change: str) -> None:
        name = self._conn.dialect.identifier_preparer.format_table(table)
        self._conn.execute(text(f"ALTER TABLE {name} {change}"))

    def _steps_left(self) -> list[SchemaStep]:
        m = self._tables.migration
        recorded: dict[int, str] = {}
        if inspect(self._conn).has_table(m.name, schema=m.schema):
            rows = self._conn.execute(select(m.c.version, m.c.checksum)).all()
            recorded = dict(tuple(row) for row in rows)
        return self._after(recorded)

    def _after(self, recorded: dict[int, str]) -> list[SchemaStep]:
        newest = max(recorded, default=0)
        if newest > VERSION:
            raise SchemaTooNewError(
                f"the tables have version {newest} and this sapwood knows up to {VERSION}: "
                "upgrade it"
            )
        steps = steps_of(self._tables)
        for step in steps:
            if recorded.get(step.version, step.checksum) != step.checksum:
                raise SchemaError(
                    f"the tables were made with another text of step {step.name}: "
                    "they come from a version of sapwood that was never released"
                )
        return [step for step in steps if step.version not in recorded]


def _is_theirs(table: str, column: Column[Any]) -> SchemaError:
    return SchemaError(
        f"{column.table.name}.{column.name} is yours, and sapwood needs a column of this name: "
        f"give ours another, columns={{'{table}': {{'{column.key}': ...}}}}"
    )


def check_theirs(conn: Connection, tables: Tables) -> None:
    """Refuse tables that a user brings along when any table or column of ours is missing."""
    looked = inspect(conn)
    missing = []
    for table in tables.all:
        if table.name == tables.migration.name:
            continue
        if not looked.has_table(table.name, schema=table.schema):
            missing.append(f"table {table.name}")
            continue
        there = {it["name"]: it for it in looked.get_columns(table.name, schema=table.schema)}
        missing += [f"column {table.name}.{it.name}" for it in table.c if it.name not in there]
        missing += _wrong_types(tables.kind, table, there)
        missing += _too_short(table, there)
        missing += _missing_values(table, there)
        missing += _missing_keys(looked, table)
        missing += _missing_transactions(looked, table)
    if missing:
        raise SchemaError(f"the database lacks {', '.join(missing)}: create them, or map them")
    _begin_counting(conn, tables)


def _wrong_types(kind: str, table: Any, there: dict[str, Any]) -> list[str]:
    """Return the columns of names whose collation takes different ones for equal."""
    if kind != "mysql":
        return []
    return [
        f"bytes (VARBINARY) in {table.name}.{it.name}"
        for it in table.c
        if isinstance(it.type, Name)
        and it.name in there
        and not _is_bytewise(there[it.name]["type"])
    ]


def _too_short(table: Table, there: dict[str, Any]) -> list[str]:
    """Return the columns that do not take every document's key."""
    return [
        f"room for {it.type.most_bytes} bytes in {table.name}.{it.name}"
        for it in table.c
        if isinstance(it.type, KeyName)
        and it.name in there
        and (getattr(there[it.name]["type"], "length", None) or MAX_KEY_BYTES) < MAX_KEY_BYTES
    ]


def _missing_values(table: Table, there: dict[str, Any]) -> list[str]:
    """Return the flags that rows from before they were added would not have."""
    return [
        f"NOT NULL DEFAULT {it.server_default.arg} in {table.name}.{it.name}"
        for it in table.c
        if isinstance(it.server_default, DefaultClause)
        and it.name in there
        and there[it.name]["nullable"]
    ]


def _missing_keys(looked: Inspector, table: Table) -> list[str]:
    """Return the columns that may not be the same in two rows, and have no unique key.

    By these keys it is seen what was written before.
    """
    name, schema = table.name, table.schema
    kept: list[Any] = [looked.get_pk_constraint(name, schema)["constrained_columns"]]
    kept += [it["column_names"] for it in looked.get_unique_constraints(name, schema)]
    kept += [it["column_names"] for it in looked.get_indexes(name, schema) if it["unique"]]
    known = {frozenset(names) for names in kept}
    keys = [
        it for it in table.constraints if isinstance(it, PrimaryKeyConstraint | UniqueConstraint)
    ]
    # A message's number in the feed is given by the server, which repeats none.
    wanted = [[column.name for column in it.columns] for it in keys if "seq" not in it.columns]
    return [
        f"a unique key ({', '.join(names)}) of {table.name}"
        for names in wanted
        if frozenset(names) not in known
    ]


def _missing_transactions(looked: Inspector, table: Table) -> list[str]:
    """Return what is missing where MariaDB would keep the half of what failed."""
    options = looked.get_table_options(table.name, table.schema)
    engines = {value for key, value in options.items() if key.endswith("_engine")}
    return [f"transactions in {table.name} (InnoDB)"] if engines & _WITHOUT_TRANSACTIONS else []


def _is_bytewise(found: Any) -> bool:
    collation = getattr(found, "collation", None) or ""
    is_bytes = "BINARY" in type(found).__name__.upper() or "BLOB" in type(found).__name__.upper()
    # Another character set could not hold every name.
    return is_bytes or collation in ("utf8mb4_nopad_bin", "utf8mb4_0900_bin")


def _begin_counting(conn: Connection, tables: Tables) -> None:
    tx = Tx(conn, Statements(tables), None)
    counted_up(tx)
    list_earlier(tx)
