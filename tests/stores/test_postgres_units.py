"""What comes along with an append on PostgreSQL: as if it was planned, without a round trip."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.rows import dict_row
from servers import postgres
from servers.proxy import Proxy

from sapwood.model import (
    ROOT,
    Appended,
    DocumentDelete,
    DocumentPut,
    Fence,
    NewSession,
    SessionPatch,
)
from sapwood.rules.ids import IdMaker
from sapwood.stores.postgres import AsyncPostgresStore, PostgresStore
from sapwood.stores.postgres._sync import quick_append, runner
from sapwood.stores.relational._sync import messages
from sapwood.testing.makers import ADA, cover, say

NOW = 1_700_000_000_000_000
MAX_DEPTH = 2**24 - 1
SOME = SessionPatch(title=None, budget=None, state="ended")
EVERYTHING = SessionPatch(
    title="a \0 title",
    state="ended",
    tags=["x", "y"],
    attributes={"é": [1]},
    budget=9,
    model="large",
    source="cli",
    end_reason="timeout",
    closed=True,
)
new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)

Along = Callable[[int], dict[str, Any]]
"""What comes along, by the version of the document `lease`."""
CASES: dict[str, Along] = {
    "two documents, a patch and a fence": lambda lease: {
        "documents": [DocumentPut(key="a", value=b"1"), DocumentPut(key="b", value=b"")],
        "patch": SessionPatch(title="t", tags=["x"]),
        "fence": Fence(key="lease", version=lease),
    },
    "documents of all kinds": lambda lease: {
        "documents": [
            DocumentPut(key="kept", value=b"2", inherit=False),
            DocumentPut(key="own", value=b"2"),
            DocumentPut(key="lease", value=b"2", expected_version=lease),
            DocumentPut(key="new", value=b"2", expected_version=0, expires_in_s=1.5),
            DocumentPut(key="expired", value=b"2", expected_version=0),
            DocumentDelete(key="gone"),
            DocumentDelete(key="none", expected_version=0),
        ]
    },
    "every column": lambda lease: {"patch": EVERYTHING},
    "some columns": lambda lease: {"patch": SOME},
    "a patch of nothing": lambda lease: {"patch": SessionPatch()},
    "an opening": lambda lease: {"patch": SessionPatch(closed=False, tags=[])},
    "guards alone": lambda lease: {
        "fence": [Fence(key="lease", version=lease)],
        "expected_version": 1,
        "expected_tip": "m3",
    },
    "a parent": lambda lease: {"parent": "m2", "documents": [DocumentDelete(key="kept")]},
    "the root": lambda lease: {"parent": ROOT, "patch": SOME},
    "no fences": lambda lease: {"fence": []},
    "data": lambda lease: {"data": {"n": 1, "é": [None]}},
    "data, after a message, and a patch": lambda lease: {
        "data": {"n": 2},
        "parent": "m2",
        "patch": SOME,
        "fence": Fence(key="lease", version=lease),
    },
}


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture(params=[0, 3], ids=["plain", "partitions"])
def parts(request: pytest.FixtureRequest, postgres_url: str) -> int:
    postgres.empty(request.param)
    parts: int = request.param
    return parts


def open_store(parts: int, clock: Clock) -> PostgresStore:
    url, schema = postgres.shared_url(), postgres.schema(parts)
    return PostgresStore(url, schema=schema, partitions=parts, new_id=new_id, clock=clock)


def prepare(store: PostgresStore, clock: Clock, session: str) -> int:
    """Make a session with documents; return the version of the one that serves as a fence."""
    clock.now = NOW
    new = NewSession(id=session, title="before", tags=["old"], attributes={"a": 1}, budget=5)
    store.create_session(ADA, new)
    store.append(ADA, session, [say("m1", tokens=1)], data={"n": 0})
    store.append(ADA, session, [say(f"m{n}", tokens=n) for n in (2, 3)])
    for key in ("kept", "gone"):
        store.put_document(ADA, key, b"1", session=session)
    store.put_document(ADA, "own", b"1", session=session, inherit=False)
    store.put_document(ADA, "expired", b"1", session=session, expires_in_s=1)
    lease = store.put_document(ADA, "lease", b"1", session=session, expires_in_s=600)
    clock.now = NOW + 2_000_000
    return lease.version


def stored(parts: int, session: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a session, but for what no two sessions have in common."""
    schema = postgres.schema(parts)
    with psycopg.connect(postgres.shared_url() or "", row_factory=dict_row) as raw:

        def rows(text: str, *args: object) -> list[dict[str, Any]]:
            return raw.execute(text.replace("{s}", schema).encode(), args).fetchall()

        [it] = rows("SELECT * FROM {s}.session WHERE id = %s", session)
        found = {"session": [it]}
        for table, by in (("profile", "session"), ("document", "version"), ("change", "seq")):
            text = f"SELECT * FROM {{s}}.{table} WHERE session = %s ORDER BY {by}"
            found[table] = rows(text, it["number"])
        for table, by in (("message", "pos"), ("segment", "number")):
            text = f"SELECT * FROM {{s}}.{table} WHERE home = %s ORDER BY {by}"
            found[table] = rows(text, it["home"])
        text = "SELECT pos, previous, value FROM {s}.data WHERE tree = %s ORDER BY pos"
        found["data"] = rows(text, it["tree"])
    for n, row in enumerate(found["document"]):
        row["version"] = n
    for row in found["change"]:
        # A change of the record names its session.
        row["name"] = row["name"] == session
    return {table: [_in_common(row) for row in rows] for table, rows in found.items()}


def _in_common(row: dict[str, Any]) -> dict[str, Any]:
    own = {"tree", "number", "home", "owner", "xid", "seq", "session", "lineage"}
    kept = {key: value for key, value in row.items() if key not in own}
    for key in kept.keys() & {"pos", "tip", "first", "last", "parent", "previous", "data_at"}:
        kept[key] = (kept[key] or 0) & MAX_DEPTH
    if "words" in kept:
        kept["words"] = re.sub("_h[0-9]+", "_h", kept["words"])
    if "home" in row and "tip" in row:
        del kept["id"]
    return kept


def told(answer: Appended) -> Any:
    """Return an answer, but for what no two sessions have in common."""
    said = [
        (it.id, it.depth, it.created_us, it.tokens, it.extra, it.data_at and it.data_at.depth)
        for it in answer.messages
    ]
    documents = {key: version > 0 for key, version in answer.documents.items()}
    data_at = answer.data_at and answer.data_at.depth
    return said, answer.written, answer.tip, documents, data_at


@pytest.mark.parametrize("case", CASES)
def test_what_comes_along_in_one_call_is_as_if_it_was_planned(
    parts: int, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError(f"{case} is planned")

    clock = Clock()
    batch = [say("n1", tokens=7, extra={"turn": 1}), say("n2", tokens=2)]
    with open_store(parts, clock) as store:
        answers = {}
        for way in ("planned", "fast"):
            along = CASES[case](prepare(store, clock, way))
            with monkeypatch.context() as patch:
                if way == "fast":
                    patch.setattr(messages, "append_planned", refuse)
                else:
                    patch.setattr(runner, "append_new", lambda *args, **options: None)
                answers[way] = store.append(ADA, way, batch, **along)
            versions = {it.key: it.version for it in store.list_documents(ADA, session=way)}
            for key, version in answers[way].documents.items():
                assert version == versions.get(key, 0)
        assert told(answers["fast"]) == told(answers["planned"])
        assert stored(parts, "fast") == stored(parts, "planned")
        assert store.admin.check() == []


@pytest.mark.parametrize(
    "along",
    [
        {"patch": SessionPatch(merge={"a": None, "b": 2}, title="t")},
        {"documents": [DocumentPut(key="pins", value=b'["m1"]')]},
        {"documents": [DocumentPut(key="large", value=b"x" * 600)]},
    ],
    ids=["merge", "pins", "more than is sent at once"],
)
def test_what_is_not_for_one_call_is_planned(
    parts: int, along: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_append, "MOST_BATCH_BYTES", 600)
    clock = Clock()
    with open_store(parts, clock) as store:
        lease = prepare(store, clock, "s")
        store.add_overlay(ADA, "s", cover("m1", "m2", tokens=1))
        fence = Fence(key="lease", version=lease)
        answer = store.append(ADA, "s", [say("n1", tokens=4)], fence=fence, **along)
        found = {it.key: it.version for it in store.list_documents(ADA, session="s")}
        assert answer.documents.items() <= found.items()
        record = store.find_session(ADA, "s")
        assert record is not None
        assert record.attributes == ({"b": 2} if "patch" in along else {"a": 1})
        assert record.context_tokens == 8 + ("pins" in answer.documents)
        assert store.admin.check() == []


# What it costs


class Watched(NamedTuple):
    url: str
    """Leads through the proxy."""
    proxy: Proxy


@pytest.fixture
def watched(postgres_url: str) -> Iterator[Watched]:
    postgres.empty()
    host, port = re.findall(r"@([^:/]+):(\d+)", postgres_url)[0]
    if host not in ("127.0.0.1", "localhost"):
        pytest.skip("the proxy is for a server on this machine")
    proxy = Proxy(int(port))
    yield Watched(postgres_url.replace(f":{port}/", f":{proxy.port}/"), proxy)
    proxy.close()


def test_an_append_is_one_round_trip_whatever_comes_along(watched: Watched) -> None:
    with PostgresStore(
        watched.url, schema=postgres.schema(), new_id=new_id, most_connections=1
    ) as store:
        for name, case in CASES.items():
            for n in range(2):  # what is prepared once is by then
                session = f"{name} {n}"
                lease = prepare(store, Clock(), session)
                # By the server's clock, it has not expired yet.
                store.delete_document(ADA, "expired", session=session)
                before = watched.proxy.requests
                store.append(ADA, session, [say("n1")], **case(lease))
            assert watched.proxy.requests - before == 1, name


def test_an_append_without_anything_is_one_round_trip(watched: Watched) -> None:
    with PostgresStore(
        watched.url, schema=postgres.schema(), new_id=new_id, most_connections=1
    ) as store:
        prepare(store, Clock(), "s")
        for n in range(2):  # what is prepared once is by then
            before = watched.proxy.requests
            store.append(ADA, "s", [say(f"a{n}")])
            store.append(ADA, "s", [say(f"b{n}"), say(None, "ours")])
            store.append(ADA, "s", [say(f"c{n}")], parent="m1")
        assert watched.proxy.requests - before == 3


async def test_the_async_twin_takes_as_many_round_trips(watched: Watched) -> None:
    async with AsyncPostgresStore(
        watched.url, schema=postgres.schema(), new_id=new_id, most_connections=1
    ) as store:
        for session in ("s", "t"):  # what is prepared once is by then
            await store.create_session(ADA, NewSession(id=session))
            lease = await store.put_document(ADA, "lease", b"", session=session, expires_in_s=60)
            along = CASES["two documents, a patch and a fence"](lease.version)
            before = watched.proxy.requests
            answer = await store.append(ADA, session, [say("m1"), say(None, "ours")], **along)
        assert watched.proxy.requests - before == 1
        assert answer.written == 2
        assert list(answer.documents) == ["a", "b"]
