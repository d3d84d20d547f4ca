"""What a session costs depends on what is visible, and not on what lies under it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.compaction import create_compact_function
from sapwood.context import BlockConfig
from sapwood.model import Event, StatusEvent
from sapwood.rules.ids import IdMaker
from sapwood.session import Session, SessionManager
from sapwood.stores.sqlite import SqliteStore

from .counting import ADA, cover, grow, steps

ONE_SECOND = 1_700_000_000_000_000
SHOWN = 60
LONG = 5_000
TEXT = "the order left our warehouse this morning and should reach you before Friday " * 4


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    new_id = IdMaker(lambda: ONE_SECOND, os.urandom)
    path = tmp_path / "s.db"
    with SqliteStore(path, clock=lambda: ONE_SECOND, new_id=new_id, durability="normal") as opened:
        grow(opened, "short", SHOWN, TEXT)
        grow(opened, "long", LONG, TEXT)
        cover(opened, "long", "long-0", f"long-{LONG - SHOWN}")
        yield opened


def session(store: SqliteStore, id: str) -> Session:
    digest = create_compact_function(strategy="digest", tail_token_budget=500)
    blocks = [BlockConfig("soul", default="You are helpful."), BlockConfig("memory", max_tokens=90)]
    sessions = SessionManager(
        store,
        owner=ADA,
        new_id=lambda: "",
        context=blocks,
        compact_with=digest,
        compact_after=10**6,
    )
    return sessions.get(id)


def test_a_compaction_reads_only_what_is_visible(store: SqliteStore) -> None:
    short, long = (session(store, id) for id in ("short", "long"))

    def compact(chat: Session) -> None:
        assert chat.compact().status == "done"
        chat.undo_compaction()

    plain = steps(store, lambda: compact(short))
    assert len(long.history().entries) == SHOWN
    assert 0 < steps(store, lambda: compact(long)) <= plain * 1.3


def test_preparing_a_turn_reads_only_what_is_visible(store: SqliteStore) -> None:
    short, long = (session(store, id) for id in ("short", "long"))
    plain = steps(store, short.prepare)
    assert len(long.prepare().messages) == SHOWN
    assert 0 < steps(store, long.prepare) <= plain * 1.3


def test_preparing_a_turn_within_a_budget_reads_only_the_end(store: SqliteStore) -> None:
    def cost(name: str, count: int) -> int:
        grow(store, name, count, TEXT)
        chat = Session(store, ADA, name)
        turn = chat.prepare(budget=2_000)
        assert turn.more
        assert turn.messages[-1].id == f"{name}-{count - 1}"
        return steps(store, lambda: chat.prepare(budget=2_000))

    assert cost("more", LONG) == cost("less", LONG // 5) > 0


def test_the_context_is_told_by_one_read_of_the_record(store: SqliteStore) -> None:
    chat = session(store, "long")
    chat.append("user", "hello")
    chat.prepare()
    record = steps(store, chat.record)
    assert steps(store, chat.context_tokens) == record > 0


def test_a_listener_and_a_threshold_cost_an_append_no_read(store: SqliteStore) -> None:
    heard: list[Event] = []
    told, plain = session(store, "long").on_event(heard.append), Session(store, ADA, "long")
    told.prepare()
    alone = steps(store, lambda: plain.append("user", "hello"))
    assert steps(store, lambda: told.append("user", "hello")) == alone > 0
    assert [type(event).__name__ for event in heard] == ["AppendEvent", "StatusEvent"] * 2
    assert isinstance(heard[-1], StatusEvent)
    assert heard[-1].tokens == told.context_tokens()
