"""What comes along with an append goes in its own round trip, as if it was planned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from servers.sql import Database
from sqlalchemy import create_engine, delete, insert, select, update
from sqlalchemy.engine import Connection

from sapwood.errors import LeaseLostError, StaleVersionError
from sapwood.model import (
    Appended,
    DocumentDelete,
    DocumentPut,
    Fence,
    NewSession,
    Read,
    SessionPatch,
)
from sapwood.stores.relational._sync import messages
from sapwood.stores.sqlalchemy import SqlAlchemyStore, quick_append
from sapwood.stores.sqlalchemy.lookup import key_of
from sapwood.stores.sqlalchemy.tables import Tables
from sapwood.testing.makers import ADA, say

from .support import engine_of, new_id
from .test_costs import counted, trips

NOW = 1_700_000_000_000_000

Along = Callable[[int], dict[str, Any]]
"""What comes along, by the version of the document `lease`."""
CASES: dict[str, Along] = {
    "two documents and a patch": lambda lease: {
        "documents": [DocumentPut(key="a", value=b"1"), DocumentPut(key="kept", value=b"")],
        "patch": SessionPatch(state="busy"),
    },
    "documents of all kinds": lambda lease: {
        "documents": [
            DocumentPut(key="kept", value=b"2", inherit=False),
            DocumentPut(key="own", value=b"2"),
            DocumentPut(key="lease", value=b"2", expected_version=lease),
            DocumentPut(key="new", value=b"2", expected_version=0, expires_in_s=1.5),
            DocumentPut(key="expired", value=b"2", expected_version=0),
        ]
    },
    "a fence that is let go": lambda lease: {
        "fence": Fence(key="lease", version=lease),
        "documents": [DocumentDelete(key="lease", expected_version=lease)],
    },
    "every column": lambda lease: {
        "expected_version": 1,
        "patch": SessionPatch(
            state="ended",
            budget=9,
            attributes={"é": [1]},
            model="large",
            source="cli",
            end_reason="timeout",
            closed=True,
        ),
    },
    "some columns": lambda lease: {"patch": SessionPatch(budget=None, model=None)},
    "a patch of nothing": lambda lease: {"patch": SessionPatch()},
    "guards alone": lambda lease: {
        "fence": [Fence(key="lease", version=lease)],
        "expected_version": 1,
    },
    "data": lambda lease: {"data": {"n": 1, "é": [None]}},
    "all": lambda lease: {
        "data": {"n": 2},
        "fence": Fence(key="lease", version=lease),
        "documents": [DocumentPut(key="lease", value=b"3"), DocumentPut(key="a", value=b"1")],
        "patch": SessionPatch(state="busy"),
    },
}


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture(params=["mariadb", "postgres"])
def server(request: pytest.FixtureRequest) -> Database:
    request.getfixturevalue(f"{request.param}_url")
    from servers.sql import MariaDb, Postgres

    return MariaDb() if request.param == "mariadb" else Postgres()


def prepare(store: SqlAlchemyStore, session: str, clock: Clock) -> int:
    """Make a session with documents; return the version of the one that serves as a fence."""
    clock.now = NOW
    new = NewSession(id=session, title="before", tags=["old"], attributes={"a": 1}, budget=5)
    store.create_session(ADA, new)
    store.append(ADA, session, [say("m1", tokens=1)], data={"n": 0})
    store.append(ADA, session, [say("m2", tokens=2)])
    store.put_document(ADA, "kept", b"1", session=session)
    store.put_document(ADA, "own", b"1", session=session, inherit=False)
    store.put_document(ADA, "expired", b"1", session=session, expires_in_s=1)
    lease = store.put_document(ADA, "lease", b"1", session=session, expires_in_s=600)
    clock.now = NOW + 2_000_000
    return lease.version


def told(answer: Appended) -> Any:
    """Return an answer, but for what no two sessions have in common."""
    said = [
        (it.id, it.depth, it.created_us, it.tokens, it.data_at and it.data_at.depth)
        for it in answer.messages
    ]
    documents = {key: version > 0 for key, version in answer.documents.items()}
    data_at = answer.data_at and answer.data_at.depth
    return said, answer.written, answer.tip, documents, data_at


def stored(store: SqlAlchemyStore, session: str) -> Any:
    """Return what there is of a session, but for what no two have in common."""
    record = store.find_session(ADA, session)
    assert record is not None
    assert record.data_at is not None
    versions = store.list_data(ADA, session, record.data_at)
    changes = [it for it in store.changes(ADA, limit=500).changes if it.session == session]
    return (
        {
            name: getattr(record, name)
            for name in record.__struct_fields__
            if name not in ("id", "tip_position", "data_at")
        },
        [(it.value, it.position.depth, it.previous is None) for it in versions],
        [
            (it.key, it.value, it.expires_us, it.inherit, it.created_us, it.updated_us)
            for it in store.list_documents(ADA, session=session)
        ],
        [
            (it.kind, it.message, it.at_us, it.version, it.position and it.position.depth)
            for it in changes
        ],
        [
            (it.id, it.depth, it.data_at and it.data_at.depth)
            for it in store.read(ADA, session, Read()).messages_only
        ],
    )


@pytest.mark.parametrize("case", CASES)
def test_what_comes_along_at_once_is_as_if_it_was_planned(
    server: Database, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError(f"{case} is planned")

    clock, answers = Clock(), {}
    with SqlAlchemyStore.from_url(server.url(), new_id=new_id, clock=clock) as store:
        for way in ("planned", "fast"):
            along = CASES[case](prepare(store, way, clock))
            with monkeypatch.context() as patch:
                if way == "fast":
                    patch.setattr(messages, "append_planned", refuse)
                else:
                    patch.setattr(quick_append, "along_of", lambda tx, request: None)
                answers[way] = store.append(ADA, way, [say("n1", tokens=7)], **along)
            versions = {it.key: it.version for it in store.list_documents(ADA, session=way)}
            for key, version in answers[way].documents.items():
                assert version == versions.get(key, 0)
        assert told(answers["fast"]) == told(answers["planned"])
        assert stored(store, "fast") == stored(store, "planned")
        assert store.admin.check() == []


@pytest.mark.parametrize(
    "along",
    [
        {"fence": Fence(key="lease", version=1)},
        {"expected_version": 7},
        {"documents": [DocumentPut(key="lease", value=b"", expected_version=0)]},
        {"documents": [DocumentPut(key="kept", value=b"", expected_version=10**9)]},
        {"documents": [DocumentPut(key="none", value=b"", expected_version=1)]},
        {"documents": [DocumentDelete(key="kept", expected_version=10**9)]},
    ],
)
def test_nothing_is_written_when_one_does_not_hold(server: Database, along: dict[str, Any]) -> None:
    clock = Clock()
    with SqlAlchemyStore.from_url(server.url(), new_id=new_id, clock=clock) as store:
        prepare(store, "s", clock)
        before = stored(store, "s")
        documents = [DocumentPut(key="a", value=b"1"), *along.get("documents", [])]
        more = along | {"documents": documents, "patch": SessionPatch(state="busy")}
        with pytest.raises((LeaseLostError, StaleVersionError)):
            store.append(ADA, "s", [say("n1")], data={"n": 9}, **more)
        assert stored(store, "s") == before
        assert store.admin.check() == []


def test_it_is_one_round_trip_whatever_comes_along(server: Database) -> None:
    with counted(server) as (store, proxy):
        store.append(ADA, "s", [say(None)], data={"n": 0})
        lease = store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
        documents = [DocumentPut(key="a", value=b"1"), DocumentPut(key="b", value=b"")]
        patch, fence = SessionPatch(state="busy"), Fence(key="lease", version=lease.version)
        more: list[dict[str, Any]] = [
            {},
            {"data": {"n": 1}},
            {"documents": documents, "patch": patch},
            {"documents": documents, "patch": patch, "fence": fence, "data": {"n": 1}},
        ]
        for along in more:
            append = lambda along=along: store.append(ADA, "s", [say(None)], **along)  # noqa: E731
            assert trips(proxy, append) == 1
        assert store.admin.check() == []


# what another one writes while this one waits for the session


def tables_of(store: SqlAlchemyStore) -> Tables:
    return store._runner.here()._worker._tables


@contextmanager
def meanwhile(store: SqlAlchemyStore, session: str) -> Iterator[tuple[Connection, Any]]:
    """Hold a session's row as another writer does, until the block ends; give it."""
    engine = create_engine(engine_of(store).url)
    s = tables_of(store).session.c
    asked = select(s.number, s.owner, s.tree, s.tip).where(s.key == key_of(ADA, session))
    try:
        with engine.begin() as conn:
            yield conn, conn.execute(asked.with_for_update()).one()
    finally:
        engine.dispose()


def started(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Let a thread do it, and wait for what it will wait for."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(call())
        except Exception as error:  # noqa: BLE001 - it is looked at
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.5)
    assert not outcome
    return thread, outcome


def test_a_fence_that_is_lost_while_it_waits_for_the_session_is_lost(server: Database) -> None:
    with SqlAlchemyStore.from_url(server.url(), new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        lease = store.put_document(ADA, "lease", b"", session="s", expires_in_s=600)
        fence = Fence(key="lease", version=lease.version)
        with meanwhile(store, "s") as (conn, row):
            d = tables_of(store).document
            thread, outcome = started(lambda: store.append(ADA, "s", [say("m2")], fence=fence))
            of = {"owner": row.owner, "session": row.number, "key": "lease"}
            conn.execute(delete(d).where(d.c.version == lease.version))
            conn.execute(insert(d).values(**of, updated_at=1, value=b"taken", inherit=1))
        thread.join(30)
        assert isinstance(outcome[0], LeaseLostError)
        assert [it.id for it in store.read(ADA, "s", Read()).messages_only] == ["m1"]


@pytest.mark.parametrize("given", [None, {"n": 9}])
def test_data_that_is_written_while_it_waits_for_the_session_is_followed(
    server: Database, given: Any
) -> None:
    with SqlAlchemyStore.from_url(server.url(), new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")], data={"n": 0})
        store.append(ADA, "s", [say("m2")])
        with meanwhile(store, "s") as (conn, row):
            t = tables_of(store)
            thread, outcome = started(
                lambda: store.append(ADA, "s", [say("m4")], **({"data": given} if given else {}))
            )
            pos, m, s = row.tip + 1, t.message.c, t.session.c
            [old] = conn.execute(
                select(m.owner, m.home, m.body, m.role).where(m.tree == row.tree, m.pos == row.tip)
            )
            conn.execute(
                insert(t.message).values(
                    tree=row.tree,
                    pos=pos,
                    owner=old.owner,
                    home=old.home,
                    id="m3",
                    role=old.role,
                    tokens=0,
                    path_tokens=0,
                    version=1,
                    created_at=1,
                    body=old.body,
                )
            )
            values = {"tree": row.tree, "pos": pos, "previous": row.tip - 1, "value": b"{}"}
            conn.execute(insert(t.data).values(values))
            changed = update(t.session).where(s.number == row.number)
            conn.execute(changed.values(tip=pos, data_at=pos, messages=3))
        thread.join(30)
        [message] = outcome[0].messages
        assert message.depth == 4
        assert message.data_at is not None
        assert message.data_at.depth == (4 if given else 3)
        record = store.find_session(ADA, "s")
        assert record is not None
        assert record.data_at is not None
        depths = [it.position.depth for it in store.list_data(ADA, "s", record.data_at)]
        assert depths == ([4, 3, 1] if given else [3, 1])


def test_repair_finds_where_the_data_at_a_tip_stands(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")], data={"n": 0})
    store.append(ADA, "s", [say("m2")])
    with engine_of(store).begin() as conn:
        conn.execute(update(tables_of(store).session).values(data_at=77))
    assert [it.kind for it in store.admin.check()] == ["session"]
    store.admin.repair()
    assert store.admin.check() == []
    [message] = store.append(ADA, "s", [say("m3")]).messages
    assert message.data_at is not None
    assert message.data_at.depth == 1
