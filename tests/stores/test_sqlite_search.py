"""Search on SQLite finds what a look at every message finds, however far its index has come."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tier import often

from sapwood.errors import UsageError
from sapwood.model import (
    ForkPoint,
    NewMessage,
    NewSession,
    OtherPart,
    Part,
    Search,
    TextPart,
    ToolResultPart,
)
from sapwood.rules.ids import IdMaker
from sapwood.rules.match import MessageFacts, matches
from sapwood.rules.query import Query, parse
from sapwood.rules.text import fold, searchable
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.connection import open_reader
from sapwood.stores.sqlite.index import indexer, reader
from sapwood.stores.sqlite.index.file import checksum_vfs, index_path, open_index_writer
from sapwood.stores.sqlite.index.follower import Follower
from sapwood.testing import COUNTS

MANY = settings(max_examples=often(100, 4_000))
OWNERS = itertools.count()
ROLES = ("user", "assistant")


def clock() -> int:
    return time.time_ns() // 1_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """Open a store whose index is filled by `finish_deletions` alone."""
    monkeypatch.setattr(indexer, "REST_S", 3_600)
    new_id = IdMaker(clock, os.urandom)
    with SqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id, durability="normal") as opened:
        yield opened


words = st.sampled_from(
    [
        "foo",
        "Foo",
        "fo",
        "bar",
        "ba",
        "env",
        "é",
        "e",
        "05",
        "1",
        "c",
        "部署",
        "部",
        "署线",
        "ガ",
        "ｶﾞ",
    ]
)
marks = st.sampled_from(
    [
        ".",
        "-",
        "--",
        "+",
        "++",
        '"',
        "*",
        ":",
        "_",
        "\u2019",
        "'",
        "、",
        "™",
        "(",
        "\\",
        "\u00ad",
        "\u200b",
        "\u0301",
    ]
)
gaps = st.sampled_from([" ", " ", "", "", "\n"])
texts = st.lists(st.tuples(words | words | marks, gaps), max_size=7).map(
    lambda pairs: "".join(itertools.chain.from_iterable(pairs))
)
values: st.SearchStrategy[Any] = st.recursive(
    texts | st.sampled_from([1, 5, -1, 0.00001, 1e16, 1.05, True, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
parts: st.SearchStrategy[Part] = st.one_of(
    texts.map(lambda text: TextPart(text=text)),
    texts.map(lambda text: TextPart(text=text)),
    values.map(lambda value: ToolResultPart(call_id="c", output=value)),
    st.dictionaries(texts, values, max_size=2).map(lambda value: OtherPart(value=value)),
)
contents = st.tuples(st.sampled_from(ROLES), st.lists(parts, min_size=1, max_size=2))
terms = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "", '"']),
    st.lists(words | words | marks, min_size=1, max_size=3).flatmap(
        lambda atoms: st.sampled_from(["", "", " "]).map(lambda gap: gap.join(atoms))
    ),
    st.sampled_from(["", "", "*", '"', '"*']),
)
queries = st.lists(
    terms | terms | terms | st.sampled_from(["AND", "OR", "NOT", "role:user", "NOT role:tool"]),
    min_size=1,
    max_size=5,
).map(" ".join)


class Quote(NamedTuple):
    """A query that takes words from what a message says, and adds something to them."""

    which: int
    first: int
    count: int
    frame: str

    def of(self, texts: list[str]) -> str:
        """Read the words out of one of the texts."""
        said = texts[self.which % len(texts)].split() if texts else []
        first = self.first % len(said) if said else 0
        return self.frame.format(" ".join(said[first : first + self.count]) or "foo")


quotes = st.builds(
    Quote,
    st.integers(0, 30),
    st.integers(0, 6),
    st.integers(1, 3),
    st.sampled_from(["{}", "{}", '"{}"', '"{}"*', "{}*", "{} OR 部", "e {}", "{} NOT foo"])
    | queries.map(lambda query: "{} OR " + query.replace("{", "").replace("}", "")),
)


class Step(NamedTuple):
    """Something that happens to the messages."""

    kind: str
    which: int
    content: tuple[str, list[Part]]


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["append"] * 5 + ["edit", "edit", "delete", "finish_deletions"]),
        st.integers(0, 30),
        contents,
    ),
    max_size=15,
)


class Corpus:
    """An owner's messages, in the store and as they were written."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.owner = f"owner {next(OWNERS)}"
        self.live: dict[str, NewMessage] = {}
        self.sessions: dict[str, str] = {}
        for session in "ab":
            store.create_session(self.owner, NewSession(id=session))

    def take(self, step: Step) -> None:
        """Do a step, on the messages that are there."""
        role, said = step.content
        if step.kind == "finish_deletions":
            self.store.finish_deletions()
            return
        known = sorted(self.live)
        if step.kind == "append" or not known:
            id, session = f"m{len(self.sessions)}", "ab"[step.which % 2]
        else:
            id = known[step.which % len(known)]
            session = self.sessions[id]
        self.sessions[id] = session
        if step.kind == "delete" and id in self.live:
            self.store.delete_messages(self.owner, session, [id])
            del self.live[id]
            return
        message = NewMessage(id=id, role=role, parts=said)
        if id in self.live:
            self.store.update_message(self.owner, session, message)
        else:
            self.store.append(self.owner, session, [message])
        self.live[id] = message

    def scan(self, query: Query, session: str | None) -> list[str]:
        """Look at all the messages."""
        return sorted(
            id
            for id, message in self.live.items()
            if session in (None, self.sessions[id])
            and matches(
                query,
                fold(searchable(message.parts)),
                MessageFacts(role=message.role, created_us=0),
            )
        )

    def compare(self, text: str, session: str | None) -> None:
        """See that a search finds what a look at all the messages finds."""
        COUNTS["searches compared with a scan"] += 1
        search = Search(text=text, session=session, limit=100)
        try:
            query = parse(text)
        except UsageError:
            with pytest.raises(UsageError):
                self.store.search(self.owner, search)
            return
        expected = self.scan(query, session)
        COUNTS["searches compared with a scan, that found something"] += bool(expected)
        hits = self.store.search(self.owner, search)
        assert sorted(hit.entry.id for hit in hits.hits) == expected
        assert hits.cursor is None


@MANY
@given(steps=steps, tail=steps, asked=st.lists(queries | quotes | quotes, min_size=1, max_size=6))
def test_a_search_finds_what_a_scan_finds(
    store_for_many: SqliteStore, steps: list[Step], tail: list[Step], asked: list[str | Quote]
) -> None:
    corpus = Corpus(store_for_many)
    for step in steps:
        corpus.take(step)
    store_for_many.finish_deletions()
    for step in tail:
        corpus.take(step)
    texts = [searchable(message.parts) for message in corpus.live.values()]
    asked_for = [it if isinstance(it, str) else it.of(texts) for it in asked]
    for query in asked_for:
        for session in (None, "a"):
            corpus.compare(query, session)
    store_for_many.finish_deletions()
    for query in asked_for:
        corpus.compare(query, None)


@pytest.fixture(scope="module")
def store_for_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """Give one store to all examples; each has an owner of its own, among all the others."""
    patch = pytest.MonkeyPatch()
    patch.setattr(indexer, "REST_S", 3_600)
    path = tmp_path_factory.mktemp("search") / "s.db"
    new_id = IdMaker(clock, os.urandom)
    with SqliteStore(path, clock=clock, new_id=new_id, durability="normal") as opened:
        yield opened
    patch.undo()


def say(id: str, text: str) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text)])


def index_of(store: SqliteStore, tmp_path: Path) -> list[tuple[int, int]]:
    """Give the entries of the index as it stands in the file."""
    connection = apsw.Connection(str(tmp_path / "s.db-search"))
    try:
        return connection.execute("SELECT number, pos FROM entry ORDER BY number").fetchall()
    finally:
        connection.close()


def test_only_what_the_index_has_not_followed_is_read_through(
    store: SqliteStore, tmp_path: Path
) -> None:
    store.create_session("ada", NewSession(id="s"))
    store.append("ada", "s", [say(f"m{n}", f"w{n} lighthouse") for n in range(50)])
    store.finish_deletions()
    assert len(index_of(store, tmp_path)) == 50
    store.append("ada", "s", [say("late", "lighthouse")])
    store.delete_messages("ada", "s", ["m7"])
    assert len(index_of(store, tmp_path)) == 50
    hits = store.search("ada", Search(text="lighthouse", limit=100)).hits
    assert len(hits) == 50
    assert "m7" not in {hit.entry.id for hit in hits}


@pytest.mark.parametrize("most", [1, 3, 7, 40])
def test_what_is_written_while_an_index_is_made_is_in_it(
    store: SqliteStore, tmp_path: Path, most: int
) -> None:
    """It is made bit by bit: what was read already may be edited or deleted meanwhile."""
    corpus = Corpus(store)
    for n in range(30):
        corpus.take(Step("append", n, ("user", [TextPart(text=f"foo w{n}")])))
    path = str(tmp_path / "s.db")
    index = open_index_writer(index_path(path), clock, 1)
    main = open_reader(path, clock, 1, None)
    with closing(index), closing(main):
        follower = Follower(index, main)
        for n in range(12):
            follower.step(most)
            said: list[Part] = [TextPart(text=f"foo again{n}")]
            corpus.take(Step(("edit", "delete", "append")[n % 3], n, ("user", said)))
            for query in ("foo", f"again{n}", f"w{n}", "again*"):
                corpus.compare(query, None)
        while follower.step(most):
            continue
    for query in ("foo", "again*", *(f"w{n}" for n in range(30))):
        corpus.compare(query, None)
    assert len(index_of(store, tmp_path)) == len(corpus.live)


def test_rule_13_an_entry_that_leads_to_another_owners_message_is_not_believed(
    store: SqliteStore, tmp_path: Path
) -> None:
    for owner in ("ada", "bob"):
        store.create_session(owner, NewSession(id="s"))
        store.append(owner, "s", [say(f"{owner}1", "lighthouse"), say(f"{owner}2", "harbour")])
    store.delete_messages("ada", "s", ["ada2"])
    store.finish_deletions()
    connection = apsw.Connection(str(tmp_path / "s.db-search"), vfs=checksum_vfs())
    [(_, hers), (_, his), (other, _)] = connection.execute("SELECT number, pos FROM entry")
    connection.execute("UPDATE entry SET pos = ? WHERE number = ?", (hers + 1, other))
    connection.execute("UPDATE entry SET pos = -9 WHERE pos = ?", (his,))
    connection.execute("UPDATE entry SET pos = ? WHERE pos = ?", (his, hers))
    connection.close()
    for owner in ("ada", "bob"):
        assert store.search(owner, Search(text="lighthouse OR harbour")).hits == []


def test_a_session_with_more_homes_than_an_expression_is_deep_is_searched(
    store: SqliteStore,
) -> None:
    store.create_session("ada", NewSession(id="f0"))
    store.append("ada", "f0", [say("m0", "lighthouse")])
    for n in range(1, 600):
        point = ForkPoint(session=f"f{n - 1}", message=f"m{n - 1}")
        store.create_session("ada", NewSession(id=f"f{n}", fork=point))
        store.append("ada", f"f{n}", [say(f"m{n}", "lighthouse")])
    store.finish_deletions()
    hits = store.search("ada", Search(text="lighthouse", session="f599", limit=1_000))
    assert len(hits.hits) == 600
    assert len(store.search("ada", Search(text="lighthouse", session="f9")).hits) == 10


def test_more_candidates_than_are_compared_at_once_are_all_found(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index gives all that has the tokens; few of them have the punctuation."""
    monkeypatch.setattr(reader, "MOST_IN_A_BATCH", 20)
    store.create_session("ada", NewSession(id="s"))
    for n in range(130):
        store.append("ada", "s", [say(f"m{n}", "a .env" if n % 40 == 3 else f"a env {n}")])
    store.finish_deletions()
    found = store.search("ada", Search(text=".env"))
    assert sorted(hit.entry.id for hit in found.hits) == ["m123", "m3", "m43", "m83"]
    found = store.search("ada", Search(text=".env", limit=2))
    assert sorted(hit.entry.id for hit in found.hits) == ["m123", "m83"]
    assert found.cursor
    assert len(store.search("ada", Search(text="env", limit=1_000)).hits) == 130
