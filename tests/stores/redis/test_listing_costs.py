"""Listings read the sessions that they find, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.model import NewSession, SessionPatch, SessionQuery
from sapwood.stores.redis import RedisStore
from sapwood.stores.redis._sync.client import RedisClient
from sapwood.testing.makers import ADA, say

MANY = 60


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the keys of the sessions that are read."""
    found: list[str] = []
    send = RedisClient.send

    def noting(self: RedisClient, commands: Any) -> Any:
        found.extend(str(it[1]) for it in commands if it[0] == "HGETALL" and ":s:" in str(it[1]))
        return send(self, commands)

    monkeypatch.setattr(RedisClient, "send", noting)
    return found


@pytest.fixture
def furnished(store: RedisStore) -> RedisStore:
    """Make two sessions that are looked for, and many others after them."""
    for id in ("a", "b"):
        new = NewSession(id=id, title="found it", tags=["found", "all"], state="found")
        store.create_session(ADA, new)
        store.create_session(ADA, NewSession(id=f"of {id}", kind="found"))
    for n in range(MANY):
        new = NewSession(id=f"s{n}", title="other", tags=["other", "all"], state="other")
        store.create_session(ADA, new)
    return store


ASKED: list[dict[str, Any]] = [
    {"tags": ["all", "found"]},
    {"title_prefix": "found"},
    {"state": "found"},
    {"state": "found", "kind": None},
    {"kind": "found"},
]


@pytest.mark.parametrize("order", ["active", "created", "updated"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_look_up_reads_what_it_finds(
    furnished: RedisStore, read: list[str], asked: dict[str, Any], order: Any
) -> None:
    for reverse in (False, True):
        read.clear()
        page = furnished.list_sessions(ADA, SessionQuery(order=order, reverse=reverse, **asked))
        assert len(page.sessions) == len(read) == 2


def test_what_finds_many_goes_by_the_order_until_the_page_is_full(
    furnished: RedisStore, read: list[str]
) -> None:
    page = furnished.list_sessions(ADA, SessionQuery(tags=["all"], limit=3))
    assert [it.id for it in page.sessions] == [f"s{MANY - n}" for n in (1, 2, 3)]
    assert len(read) <= 51


def test_no_words_are_left_of_what_a_record_said_before(
    furnished: RedisStore, raw: Any, prefix: str
) -> None:
    furnished.list_sessions(ADA, SessionQuery(tags=["found"]))
    key = f"{prefix}:{{o:{ADA}}}:lk"
    before = raw.zcard(key)
    for n in range(3):
        patch = SessionPatch(title=f"t{n}", tags=[f"g{n}", "x"], state=f"s{n}")
        furnished.append(ADA, "a", [say(f"m{n}")], patch=patch)
        found = furnished.list_sessions(ADA, SessionQuery(tags=[f"g{n}", "x"], state=f"s{n}"))
        assert [it.id for it in found.sessions] == ["a"]
        assert raw.zcard(key) == before
    furnished.delete_session(ADA, "a")
    assert raw.zcard(key) == before - 5


def test_sessions_of_an_earlier_version_are_found_once_they_are_listed(
    furnished: RedisStore, raw: Any, prefix: str
) -> None:
    furnished.finish_deletions()
    stem = f"{prefix}:{{o:{ADA}}}:"
    # As it was before there were words, and when nothing is left to be published.
    assert raw.delete(f"{stem}lk") == 1
    raw.delete(f"{stem}ki", f"{stem}lu", f"{stem}h")
    raw.hdel(f"{stem}t", "lk")
    assert furnished.admin.check() == []
    for asked in ASKED:
        page = furnished.list_sessions(ADA, SessionQuery(order="updated", **asked))
        assert len(page.sessions) == 2
    assert furnished.admin.check() == []
