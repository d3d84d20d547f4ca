"""A file of an earlier schema can be opened, and shows what was put into it.

`tests/fixtures/make_schema.py` makes one, of the newest schema.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.errors import ConflictError, MessageConflictError
from sapwood.model import (
    ROOT,
    Message,
    NewSession,
    Read,
    SessionPatch,
    SessionQuery,
    Summary,
    SystemFields,
    SystemPatch,
)
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.migrate import packaged_steps

from .support import ADA, ids_in, open_store, raw, say

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASED = json.loads((FIXTURES / "released.json").read_text())


EARLIER = ["schema-0001.db", "schema-0006.db"]


@pytest.fixture(params=EARLIER)
def file(request: pytest.FixtureRequest) -> Path:
    return FIXTURES / request.param


@pytest.fixture
def path(file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(file, tmp_path / "s.db"))


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with open_store(path) as opened:
        yield opened


def test_the_text_of_a_released_migration_does_not_change() -> None:
    packaged = {step.name: step.checksum for step in packaged_steps()}
    assert {name: packaged.get(name) for name in RELEASED} == RELEASED


def test_migrations_are_numbered_without_a_gap() -> None:
    versions = [step.version for step in packaged_steps()]
    assert versions == list(range(1, len(versions) + 1))


def test_an_earlier_schemas_file_is_one_file(file: Path, path: Path) -> None:
    assert sorted(it.name for it in FIXTURES.glob("schema-*.db*")) == EARLIER
    with raw(path) as connection:
        assert file.name == f"schema-{connection.pragma('user_version'):04}.db"


def test_an_earlier_schemas_file_is_sound(store: SqliteStore) -> None:
    assert store.admin.check() == []
    assert store.admin.schema_version() == packaged_steps()[-1].version
    assert store.admin.list_owners() == ["ada", "bob"]


def test_an_earlier_schemas_tree_is_shown(store: SqliteStore) -> None:
    history = store.read(ADA, "main", Read())
    shown = [it.id if isinstance(it, Message) else it.overlay.id for it in history.entries]
    assert shown == ["m1", "o1", "m4", "m5", "m6", "m8"]
    summary = history.entries[1]
    assert isinstance(summary, Summary)
    assert summary.text == "two and three"
    assert [it.id for it in summary.pinned] == ["m2"]
    assert history.messages_only[3].text == "edited"
    branch = store.read(ADA, "main", Read(leaf="b2", overlays=False))
    assert [it.id for it in branch.messages_only] == ["m1", "m2", "m3", "m4", "b1", "b2"]
    assert [leaf.id for leaf in store.list_leaves(ADA, "main")] == ["m8", "b2"]


def test_an_earlier_schemas_forks_are_shown(store: SqliteStore) -> None:
    plain = Read(overlays=False)
    fork = [it.id for it in store.read(ADA, "fork", plain).messages_only]
    assert fork == ["m1", "m2", "m3", "m4", "m5", "m6", "f1"]
    apart = [it.id for it in store.read(ADA, "apart", plain).messages_only]
    assert apart == ["m1", "m2", "m3", "m4"]
    assert {it.home for it in store.read(ADA, "apart", plain).messages_only} == {"apart"}
    assert ids_in(store, "orphan") == ["gone-0", "gone-1"]
    with pytest.raises(ConflictError):
        store.delete_messages(ADA, "fork", ["m1"])
    for session, id in (("fork", "m1"), ("orphan", "gone-0")):
        assert store.append(ADA, session, [say(id, f"text of {id}")]).written == 0


def test_an_earlier_schemas_records_are_there(store: SqliteStore) -> None:
    main = store.find_session(ADA, "main")
    assert main is not None
    assert (main.title, main.tags, main.attributes, main.budget) == ("Main", ["a"], {"k": 1}, 1000)
    assert (main.model, main.source, main.end_reason) == (None, None, None)
    assert (main.kind, main.system) == ("chat", SystemFields())
    assert main.updated_us == max(main.created_us, main.active_us)
    cleared = store.find_session(ADA, "cleared")
    assert cleared is not None
    assert (cleared.title, cleared.tip, cleared.messages) == ("cleared", ROOT, 0)
    assert store.find_session(ADA, "gone") is None
    assert store.list_sessions(ADA, SessionQuery(title_prefix="Ma")).sessions == [main]
    tagged = store.list_sessions(ADA, SessionQuery(tags=["a"], order="created")).sessions
    assert [it.id for it in tagged] == ["apart", "fork", "main"]
    page = store.admin.list_sessions(SessionQuery(state="active"))
    written = store.list_sessions("bob", SessionQuery(state="active", order="updated")).sessions
    assert [it.session for it in page.sessions if it.owner == "bob"] == written
    assert len(written) == 1
    note = store.find_document(ADA, "note")
    assert note is not None
    assert note.value == b"of the owner"
    assert [it.input_tokens for it in store.total_usage(ADA, "main")] == [10]
    assert store.total_owner_usage(ADA) == store.total_usage(ADA, "main")
    assert [it.text for it in store.read("bob", "main", Read()).messages_only] == ["of bob"]


def test_an_earlier_schemas_file_can_be_written(path: Path) -> None:
    with open_store(path) as store:
        with pytest.raises(MessageConflictError):
            store.append(ADA, "main", [say("m7", "text of m7")])
        assert store.append(ADA, "main", [say("m8", "text of m8")]).written == 0
        store.append(ADA, "main", [say("m9")])
        orphan = store.find_session(ADA, "orphan")
        assert orphan is not None
        store.delete_session(ADA, "orphan")
        store.finish_deletions()
        system = SystemFields(key=("agent",))
        again = store.create_session(ADA, NewSession(id="orphan", system=system))
        assert again.version > orphan.version
        found = store.list_sessions(ADA, SessionQuery(key=("agent",))).sessions
        assert found == [again]
        main = store.update_session(ADA, "main", SessionPatch(system=SystemPatch(life=1))).record
        assert (main.system, main.kind) == (SystemFields(life=1), "chat")
    with open_store(path) as later:
        assert later.admin.check() == []
        assert ids_in(later, "main")[-1] == "m9"


@pytest.mark.parametrize("is_settled", [False, True], ids=["at once", "settled"])
@pytest.mark.parametrize("file", EARLIER[:1], indirect=True)
def test_sums_that_the_first_schema_left_to_renew_are_renewed(
    store: SqliteStore, file: Path, tmp_path: Path, is_settled: bool
) -> None:
    left = Path(shutil.copy(file, tmp_path / "left.db"))
    with raw(left) as connection:
        connection.execute("INSERT INTO stale SELECT tree FROM session WHERE id = 'fork'")
        connection.execute("UPDATE session SET lead = lead + 7 WHERE id = 'fork'")
    with open_store(left) as renewed:
        if is_settled:
            renewed.finish_deletions()
        assert tokens_shown(renewed) == tokens_shown(store)
        for each in (renewed, store):
            each.append(ADA, "fork", [say("f2")])
        assert tokens_shown(renewed) == tokens_shown(store)
        renewed.finish_deletions()
        assert tokens_shown(renewed) == tokens_shown(store)
        assert renewed.admin.check() == []


def tokens_shown(store: SqliteStore) -> int:
    fork = store.find_session(ADA, "fork")
    assert fork is not None
    return fork.context_tokens
