"""What a search should find, by looking at everything in the file, and if an index is whole."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sapwood.model import NewMessage, Search, TextPart
from sapwood.rules.codec import decode_body
from sapwood.rules.match import MessageFacts, matches
from sapwood.rules.query import parse
from sapwood.rules.text import fold, searchable
from sapwood.stores.sqlite import SqliteStore

from .support import ADA, raw

MOST = 1_000
PLACES = ("lighthouse", "harbour", "cat .env", "请部署服务", "C++ compiler")
QUERIES = (
    "lighthouse",
    ".env",
    "env",
    "部署",
    "C++",
    "edited",
    '"at the harbour"',
    "harbour NOT edited",
    "number7",
    "number1*",
    "w13 lighthouse OR w14",
    "of summary",
    "nowhere",
)

_MESSAGES = (
    "SELECT m.pos, m.id, m.role, m.body, s.id FROM message m JOIN session s ON s.home = m.home"
    " WHERE m.body IS NOT NULL"
)
_SUMMARIES = (
    "SELECT -o.number, o.id, 'summary', o.summary, s.id FROM overlay o"
    " JOIN in_force f ON f.overlay = o.number JOIN session s ON s.number = f.session"
)


class Said(NamedTuple):
    """What a search may find, folded as it compares."""

    id: str
    role: str
    text: str
    home: str


def say_something(n: int, id: str | None = None, *, edited: bool = False) -> NewMessage:
    """Write a message that some of the queries find."""
    place = PLACES[n % len(PLACES)]
    text = f"at the {place}: w{n % 97}, number{n}{' edited' if edited else ''}"
    return NewMessage(id=id or f"m{n}", role="user", parts=[TextPart(text=text)])


def scan(said: Iterable[Said], text: str, session: str | None = None) -> list[str]:
    """Look at every message and summary."""
    query = parse(text)
    return sorted(
        it.id
        for it in said
        if session in (None, it.home)
        and matches(query, it.text, MessageFacts(role=it.role, created_us=0))
    )


def all_said(path: Path) -> list[Said]:
    """Read every message and summary out of the database."""
    with raw(path) as connection:
        rows = connection.execute(f"{_MESSAGES} UNION ALL {_SUMMARIES}").fetchall()
    return [
        Said(id, role, fold(said if pos < 0 else searchable(decode_body(said, id).parts)), home)
        for pos, id, role, said, home in rows
    ]


def assert_right(store: SqliteStore, path: Path, session: str | None = None) -> None:
    """Compare searches with a scan of the file."""
    said = all_said(path)
    for text in QUERIES:
        expected = scan(said, text, session)
        hits = store.search(ADA, Search(text=text, session=session, limit=MOST))
        found = sorted(hit.entry.id for hit in hits.hits)
        if len(expected) <= MOST:
            assert found == expected, text
            assert hits.cursor is None
        else:
            assert set(found) <= set(expected), text
            assert len(set(found)) == MOST
            assert hits.cursor


def assert_sound_index(path: Path) -> None:
    """See that what is in the index fits together, however far it has come."""
    with raw(f"{path}-search") as index:
        assert index.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        index.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        entries = index.execute("SELECT number FROM entry ORDER BY number").fetchall()
        assert index.execute("SELECT id FROM words_docsize ORDER BY id").fetchall() == entries


def assert_whole_index(path: Path) -> None:
    """See that everything that can be found is in the index, once, and nothing else."""
    assert_sound_index(path)
    with raw(path) as connection:
        rows = connection.execute(f"{_MESSAGES} UNION ALL {_SUMMARIES}").fetchall()
    with raw(f"{path}-search") as index:
        entries = [pos for (pos,) in index.execute("SELECT pos FROM entry")]
    assert sorted(entries) == sorted(row[0] for row in rows)


def change_some(store: SqliteStore, session: str, start: int, count: int, seed: int = 0) -> None:
    """Append messages, then edit some of them and delete others."""
    dice = random.Random(seed)
    numbers = range(start, start + count)
    for n in numbers:
        store.append(ADA, session, [say_something(n)])
    for n in dice.sample(numbers, count // 5):
        store.update_message(ADA, session, say_something(n + 1, f"m{n}", edited=True))
    doomed = dice.sample(numbers, count // 5)
    store.delete_messages(ADA, session, [f"m{n}" for n in doomed])
