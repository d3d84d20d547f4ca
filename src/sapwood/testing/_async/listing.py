"""Listing sessions: filters, orders and pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ...errors import UsageError
from ...model import Edge, EdgeKind, NewSession, SessionPatch, SessionQuery
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, fork_of
from .base import AsyncContractBase, grow, record_of


async def listed(store: AsyncStore, **query: Any) -> list[str]:
    """List ids, page by page, after everything derived is up to date."""
    await store.finish_deletions()
    ids: list[str] = []
    while True:
        page = await store.list_sessions(ADA, SessionQuery(**query))
        assert len(page.sessions) <= query.get("limit", 50)
        ids.extend(record.id for record in page.sessions)
        if page.cursor is None:
            return ids
        assert page.sessions
        query["cursor"] = page.cursor


class AsyncListingContract(AsyncContractBase):
    """A list shows what matches all filters, newest first, each session once."""

    async def test_nothing_is_an_empty_page(self, store: AsyncStore) -> None:
        page = await store.list_sessions(ADA, SessionQuery())
        assert (page.sessions, page.cursor) == ([], None)

    async def test_records_in_a_list_are_those_that_find_gives(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.update_session(
            ADA, "s", SessionPatch(title="t", tags=["x"], attributes={"a": 1})
        )
        await store.finish_deletions()
        page = await store.list_sessions(ADA, SessionQuery())
        assert page.sessions == [await record_of(store)]

    async def test_by_creation_the_newest_comes_first(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        for name in ("c", "a", "b"):
            await grow(store, session=name)
        clock.advance(2)
        await grow(store, "m", session="c")
        assert await listed(store, order="created") == ["b", "a", "c"]

    async def test_by_activity_the_last_appended_to_comes_first(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        for name in ("a", "b", "c"):
            await grow(store, session=name)
            clock.advance(2)
        await grow(store, "m", session="a")
        assert await listed(store) == ["a", "c", "b"]

    @pytest.mark.parametrize("order", ["active", "created"])
    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
    async def test_pages_give_each_session_once(
        self, store: AsyncStore, clock: Clock, order: str, limit: int
    ) -> None:
        names = [f"s{n}" for n in range(7)]
        for name in names:
            await grow(store, session=name)
            clock.advance(0.4)
        assert await listed(store, order=order, limit=limit) == names[::-1]

    async def test_a_session_created_between_two_pages_disturbs_none(
        self, store: AsyncStore
    ) -> None:
        for n in range(4):
            await grow(store, session=f"s{n}")
        await store.finish_deletions()
        first = await store.list_sessions(ADA, SessionQuery(order="created", limit=2))
        await grow(store, session="new")
        await store.finish_deletions()
        second = await store.list_sessions(
            ADA, SessionQuery(order="created", limit=2, cursor=first.cursor)
        )
        assert [r.id for r in first.sessions + second.sessions] == ["s3", "s2", "s1", "s0"]

    async def test_filters_on_state_tags_and_title(self, store: AsyncStore) -> None:
        for id, state, tags, title in [
            ("a", "active", ["x", "y"], "Order 1"),
            ("b", "done", ["x"], "Order 2"),
            ("c", "active", [], "order"),
            ("d", "active", ["X", "xy"], None),
            ("e", "active", ["x"], "Ord%_"),
        ]:
            new = NewSession(id=id, state=state, tags=tags, title=title)
            await store.create_session(ADA, new)
        assert await listed(store, state="done") == ["b"]
        assert await listed(store, state="act") == []
        assert await listed(store, tags=["x"]) == ["e", "b", "a"]
        assert await listed(store, tags=["x", "y"]) == ["a"]
        assert await listed(store, title_prefix="Order") == ["b", "a"]
        assert await listed(store, title_prefix="Ord%") == ["e"]
        assert await listed(store, title_prefix="") == ["e", "c", "b", "a"]
        assert await listed(store, title_prefix="Ord", state="active", tags=["x"]) == ["e", "a"]

    async def test_a_filter_follows_a_change_of_the_record(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s", tags=["x"], title="one"))
        await store.update_session(ADA, "s", SessionPatch(tags=["y"], title="two", state="done"))
        assert await listed(store, tags=["x"]) == []
        assert await listed(store, title_prefix="one") == []
        assert await listed(store, state="active") == []
        assert await listed(store, tags=["y"], title_prefix="two", state="done") == ["s"]

    async def test_a_filter_on_the_parent_finds_forks_and_successors(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.create_session(ADA, fork_of("s"))
        edge = Edge(kind=EdgeKind.DELEGATE, session="s")
        await store.create_session(ADA, NewSession(id="helper", parent=edge))
        await store.create_session(ADA, fork_of("fork", id="grandchild"))
        assert await listed(store, parent="s") == ["helper", "fork"]
        assert await listed(store, parent="nobody") == []

    async def test_ranges_include_their_start_and_not_their_end(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        for name in ("a", "b", "c"):
            await grow(store, session=name)
            clock.advance(2)
        middle = (await record_of(store, "b")).created_at
        later = middle + timedelta(microseconds=1)
        assert await listed(store, created_from=middle) == ["c", "b"]
        assert await listed(store, created_until=middle) == ["a"]
        assert await listed(store, created_from=middle, created_until=later) == ["b"]
        assert await listed(store, active_from=later, order="created") == ["c"]
        assert await listed(store, active_until=later) == ["b", "a"]

    async def test_an_activity_range_follows_appends(self, store: AsyncStore, clock: Clock) -> None:
        await grow(store, session="a")
        clock.advance(2)
        await grow(store, session="b")
        clock.advance(2)
        await grow(store, "m", session="a")
        since = (await record_of(store, "a")).active_at
        assert await listed(store, active_from=since) == ["a"]
        assert await listed(store, created_from=since) == []

    async def test_rule_15_a_cursor_that_is_none_of_ours_is_refused(
        self, store: AsyncStore
    ) -> None:
        for cursor in ("x", "é" * 40, "null", "[]"):
            with pytest.raises(UsageError):
                await store.list_sessions(ADA, SessionQuery(cursor=cursor))
