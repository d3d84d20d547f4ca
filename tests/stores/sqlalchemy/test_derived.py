"""Figures that are derived: damage is found, and nothing is left behind."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from sapwood.errors import (
    StaleVersionError,
    StoreCorruptError,
)
from sapwood.model import NewMessage, NewSession, Read, TextPart
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.testing.makers import ADA

from ..derived import (
    ANOTHER_PREVIOUS,
    DATA_DAMAGES,
    LISTING_DAMAGES,
    LOST_MARK,
    LOST_VALUE,
    data_of,
    furnish_data,
    furnish_listing,
    listing_of,
)
from .support import engine_of, furnish

_BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}


def run(store: SqlAlchemyStore, damage: str) -> None:
    """Run a statement that names tables behind a pair of braces."""
    prefix = store._runner.here()._worker._tables.session.name.removesuffix("session")
    bytes = _BYTES.get(engine_of(store).dialect.name, "BINARY")
    with engine_of(store).begin() as conn:
        conn.execute(text(damage.replace("{}", prefix).replace("BYTES", bytes)))


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("UPDATE {}segment SET lineage = CAST('' AS BYTES)", "segment"),
        ("UPDATE {}message SET path_tokens = path_tokens + 1 WHERE id = 'm2'", "message"),
        ("UPDATE {}in_force SET last = last - 1", "overlay"),
        ("UPDATE {}session SET context = context + 1", "session"),
        ("UPDATE {}session SET messages = 0, overlays = 7, active_s = 0", "session"),
        ("UPDATE {}session SET running = running + 1", "session"),
    ],
)
def test_damage_to_what_is_derived_is_found_and_repaired(
    store: SqlAlchemyStore, damage: str, kind: str
) -> None:
    furnish(store)
    before = [store.read(ADA, session, Read()) for session in ("s", "fork")]
    records = [store.find_session(ADA, session) for session in ("s", "fork")]
    run(store, damage)
    assert kind in {problem.kind for problem in store.admin.check()}
    assert store.admin.repair() == []
    assert [store.read(ADA, session, Read()) for session in ("s", "fork")] == before
    assert [store.find_session(ADA, session) for session in ("s", "fork")] == records


@pytest.mark.parametrize(
    "damage", [*LISTING_DAMAGES.values(), "UPDATE {}session SET updated_s = updated_s - 7"]
)
def test_rule_14_what_sessions_are_found_by_is_rebuilt_from_their_records(
    store: SqlAlchemyStore, damage: str
) -> None:
    furnish_listing(store)
    before = listing_of(store)
    assert store.admin.check() == []
    run(store, damage)
    assert {it.kind for it in store.admin.check()} == {"session"}
    assert store.admin.repair() == []
    assert listing_of(store) == before


@pytest.mark.parametrize(
    "damage",
    [
        *DATA_DAMAGES.values(),
        ANOTHER_PREVIOUS,
        "UPDATE {}session SET has_data = 0",
        "UPDATE {}session SET data_at = 0",
    ],
)
def test_rule_14_where_data_stands_is_rebuilt(store: SqlAlchemyStore, damage: str) -> None:
    furnish_data(store)
    before = data_of(store)
    assert store.admin.check() == []
    run(store, damage)
    assert store.admin.check() != []
    assert store.admin.repair() == []
    assert data_of(store) == before


@pytest.mark.parametrize("damage", [LOST_MARK, LOST_VALUE])
def test_rule_08_data_that_is_lost_is_told_and_not_repaired(
    store: SqlAlchemyStore, damage: str
) -> None:
    furnish_data(store)
    run(store, damage)
    for problems in (store.admin.check(), store.admin.repair()):
        assert [it.kind for it in problems] == ["data"]


def test_rule_08_a_body_that_cannot_be_decoded_is_told_and_not_repaired(
    store: SqlAlchemyStore,
) -> None:
    furnish(store)
    m = store._runner.here()._worker._tables.message
    with engine_of(store).begin() as conn:
        conn.execute(m.update().where(m.c.id == "m4").values(body=b"x"))
    with pytest.raises(StoreCorruptError, match="m4"):
        store.read(ADA, "s", Read())
    assert [(it.kind, it.where) for it in store.admin.repair()] == [("message", "m4")]


def test_a_deleted_tree_leaves_no_rows(store: SqlAlchemyStore) -> None:
    furnish(store)
    store.erase_owner(ADA)
    store.finish_deletions()
    with engine_of(store).connect() as conn:
        for table in store._runner.here()._worker._tables.all:
            left = conn.execute(table.select()).all()
            assert table.name.endswith(("migration", "counter")) or not left, table.name


def test_the_clock_is_the_servers_where_none_is_given(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    words = NewMessage(role="user", parts=[TextPart(text="x")])
    first, second = (store.append(ADA, "s", [words]).messages[0] for _ in range(2))
    assert 0 < second.created_us - first.created_us < 60_000_000
    document = store.put_document(ADA, "k", b"", expires_in_s=0.01)
    assert document.expires_us == document.updated_us + 10_000
    time.sleep(0.02)
    assert store.find_document(ADA, "k") is None


def test_rule_09_of_many_that_take_an_owners_lease_one_succeeds(store: SqlAlchemyStore) -> None:
    def add(_: int) -> int:
        done = 0
        while done < 5:
            found = store.find_document(ADA, "k")
            value = b"%d" % (int(found.value) + 1 if found else 1)
            version = found.version if found else 0
            with contextlib.suppress(StaleVersionError):
                store.put_document(ADA, "k", value, expected_version=version)
                done += 1
        return done

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(add, range(4))) == 20
    found = store.find_document(ADA, "k")
    assert found is not None
    assert found.value == b"20"
