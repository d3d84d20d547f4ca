"""Migrations: in one transaction, after a backup, by texts that do not change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.errors import SchemaError, SchemaTooNewError, StoreError
from sapwood.stores.sqlite import migrate
from sapwood.stores.sqlite.migrate import Migration

from .support import ids_in, open_store, raw, value
from .test_schema import FIXTURES

KNOWN = migrate.packaged_steps()
NEWEST = KNOWN[-1].version
MORE = Migration(NEWEST + 1, "more.sql", "CREATE TABLE more (x); INSERT INTO more VALUES (1);")
LESS = Migration(NEWEST + 2, "less.sql", "DROP TABLE more;")
BROKEN = Migration(NEWEST + 2, "broken.sql", "CREATE TABLE less (x); CREATE TABLE less (x);")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a file of the newest schema."""
    path = Path(shutil.copy(FIXTURES / "schema-0001.db", tmp_path / "s.db"))
    open_store(path).close()
    for backup in tmp_path.glob("*.backup"):
        backup.unlink()
    return path


def use(monkeypatch: pytest.MonkeyPatch, *steps: Migration) -> None:
    """Pretend that this version ships these migrations."""
    monkeypatch.setattr(migrate, "packaged_steps", lambda: list(steps))


def recorded(path: Path) -> list[tuple[int, str, str]]:
    with raw(path) as connection:
        return connection.execute(
            "SELECT version, name, checksum FROM migration ORDER BY version"
        ).fetchall()


def test_an_older_file_is_migrated_after_a_backup(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, *KNOWN, MORE)
    with open_store(path) as store:
        assert store.admin.schema_version() == NEWEST + 1
        assert ids_in(store, "orphan") == ["gone-0", "gone-1"]
        assert store.admin.check() == []
    assert recorded(path) == [(it.version, it.name, it.checksum) for it in (*KNOWN, MORE)]
    assert value(path, "SELECT x FROM more") == 1
    backup = path.with_name(f"s.db.v{NEWEST}.backup")
    assert backup.exists()
    use(monkeypatch, *KNOWN)
    with open_store(backup) as store:
        assert store.admin.schema_version() == NEWEST
        assert store.admin.check() == []
        assert ids_in(store, "orphan") == ["gone-0", "gone-1"]
    assert sorted(it.name for it in path.parent.iterdir()) == ["s.db", f"s.db.v{NEWEST}.backup"]


def test_several_steps_are_one_transaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, *KNOWN, MORE, LESS)
    with open_store(path) as store:
        assert store.admin.schema_version() == NEWEST + 2
    assert [version for version, *_ in recorded(path)][-2:] == [NEWEST + 1, NEWEST + 2]


def test_a_step_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    use(monkeypatch, *KNOWN, MORE, BROKEN)
    with pytest.raises(StoreError):
        open_store(path)
    assert path.read_bytes() == before
    assert value(path, "PRAGMA user_version") == NEWEST
    assert value(path, "SELECT count(*) FROM sqlite_schema WHERE name IN ('more', 'less')") == 0
    use(monkeypatch, *KNOWN)
    with open_store(path) as store:
        assert store.admin.check() == []


def test_a_new_file_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.db"
    use(monkeypatch, *KNOWN, MORE, BROKEN)
    with pytest.raises(StoreError):
        open_store(path)
    assert value(path, "SELECT count(*) FROM sqlite_schema") == 0
    use(monkeypatch, *KNOWN, MORE)
    with open_store(path) as store:
        assert store.admin.schema_version() == NEWEST + 1
    assert list(tmp_path.glob("*.backup*")) == []


def test_a_file_of_the_version_before_is_too_new_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, *KNOWN, MORE)
    open_store(path).close()
    use(monkeypatch, *KNOWN)
    before = path.read_bytes()
    with pytest.raises(SchemaTooNewError, match="upgrade"):
        open_store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("later", [(), (MORE,)], ids=["up to date", "to be migrated"])
def test_a_file_made_with_another_text_is_refused_and_not_touched(
    path: Path, monkeypatch: pytest.MonkeyPatch, later: tuple[Migration, ...]
) -> None:
    before = path.read_bytes()
    first = KNOWN[0]
    changed = first._replace(sql=f"{first.sql}\n-- changed")
    use(monkeypatch, changed, *KNOWN[1:], *later)
    with pytest.raises(SchemaError, match=first.name):
        open_store(path)
    assert path.read_bytes() == before


OPEN = """
import json, sys
from sapwood.stores.sqlite import SqliteStore, migrate

steps = [migrate.Migration(*step) for step in json.loads(sys.argv[2])]
migrate.packaged_steps = lambda: steps
print("ready", flush=True)
sys.stdin.readline()
SqliteStore(sys.argv[1], clock=lambda: 0, new_id=str).close()
"""


@pytest.mark.fault
@pytest.mark.parametrize("attempt", range(4))
def test_processes_that_migrate_at_once_all_succeed_and_keep_the_backup(
    path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    steps = json.dumps([*KNOWN, MORE])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path), steps],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 4
    assert [version for version, *_ in recorded(path)] == [*range(1, NEWEST + 2)]
    backups = [it.name for it in path.parent.glob("*.backup*")]
    assert backups == [f"s.db.v{NEWEST}.backup"]
    assert value(path.with_name(f"s.db.v{NEWEST}.backup"), "PRAGMA user_version") == NEWEST
