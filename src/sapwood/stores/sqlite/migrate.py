"""Schema versions: forward only, each step recorded with the checksum of its text."""

from __future__ import annotations

import hashlib
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import apsw

from ...errors import MigrationNeededError, SchemaError, SchemaTooNewError
from .backup import sync_folder
from .connection import Connection
from .failure import translated
from .inheritance import connect

APPLICATION_ID = 0x5A9D00D1
"""Marks a SQLite file as ours."""

_RECORDS = """
CREATE TABLE migration (
    version     INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    applied_at  INTEGER NOT NULL
) STRICT
"""


class Migration(NamedTuple):
    """One packaged step from a version of the schema to the next."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """The digest of the step's text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def packaged_steps() -> list[Migration]:
    """Return the migrations that this version of sapwood ships, in order."""
    folder = resources.files(__package__) / "schema"
    names = sorted(it.name for it in folder.iterdir() if it.name.endswith(".sql"))
    return [
        Migration(int(name.partition("_")[0]), name, (folder / name).read_text("utf-8"))
        for name in names
    ]


def stored_version(path: Path) -> int:
    """Return a file's schema version without opening it as a store, which would migrate it."""
    with (
        translated(str(path)),
        closing(connect(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as raw,
    ):
        version: int = raw.pragma("user_version")
    return version


def refuse_foreign(tx: Connection, path: str) -> None:
    """Refuse a file that is another program's, or a newer version's, before it is touched."""
    steps = packaged_steps()
    current = _current(tx, path, steps[-1].version)
    recorded = dict(tx.rows("SELECT version, checksum FROM migration")) if current else {}
    for step in steps:
        if step.version <= current and recorded.get(step.version) != step.checksum:
            raise SchemaError(
                f"{path} was made with another text of migration {step.name}: "
                "it comes from a version of sapwood that was never released"
            )


def migrate(tx: Connection, path: str) -> None:
    """Bring a database to the newest schema, in one transaction.

    An older file is copied aside first; a newer one, or one that is not ours, is not touched.
    """
    steps = packaged_steps()
    newest = steps[-1].version
    if _current(tx, path, newest) == newest:
        return
    if tx.raw.readonly("main"):
        raise MigrationNeededError(
            f"{path} was written by an older version and cannot be written here: "
            "open it once where it can be"
        )
    with tx.transaction():
        # Another process may have been first while this one waited for the lock.
        current = _current(tx, path, newest)
        if current == 0:
            tx.run(_RECORDS, ())
            tx.rows(f"PRAGMA application_id = {APPLICATION_ID}")
        elif current < newest:
            _back_up(tx, path, current)
        for step in steps:
            if step.version > current:
                _apply(tx, step)


def _current(tx: Connection, path: str, newest: int) -> int:
    """Return the schema's version, 0 for an empty file; refuse what is not ours or is newer."""
    with tx.snapshot():
        version: int = tx.value("PRAGMA user_version")
        application = tx.value("PRAGMA application_id")
        tables = tx.value("SELECT count(*) FROM sqlite_schema")
    if application != APPLICATION_ID:
        if application or version or tables:
            raise SchemaError(f"{path} is a database of another program: choose another file")
        return 0
    if version > newest:
        raise SchemaTooNewError(
            f"{path} has schema version {version} and this sapwood knows up to {newest}: upgrade it"
        )
    return version


def _apply(tx: Connection, step: Migration) -> None:
    tx.rows(step.sql)
    tx.run(
        "INSERT INTO migration VALUES (?, ?, ?, ?)",
        (step.version, step.name, step.checksum, tx.clock()),
    )
    tx.rows(f"PRAGMA user_version = {step.version}")


def _back_up(tx: Connection, path: str, version: int) -> None:
    """Copy an older file aside, whole or not at all; nobody else writes meanwhile."""
    target = Path(f"{path}.v{version}.backup")
    unfinished = Path(f"{target}.unfinished")
    unfinished.unlink(missing_ok=True)
    # A connection that is writing cannot be the source of a copy.
    source = connect(path, flags=apsw.SQLITE_OPEN_READONLY, vfs=tx.raw.open_vfs)
    copy = connect(str(unfinished))
    with closing(source), closing(copy), copy.backup("main", source, "main") as backup:
        backup.step()
    unfinished.replace(target)
    sync_folder(target.parent)
