"""Listings in every order, both ways; look-ups; and the sessions of all owners."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from ...errors import UsageError
from ...model import (
    NewSession,
    OwnedSession,
    SessionPatch,
    SessionQuery,
    SystemFields,
    datetime_of,
)
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow, record_of
from .listing import listed

EARLY_US = 1_600_000_000_000_000


async def of_all(store: AsyncStore, **query: Any) -> list[OwnedSession]:
    """List the sessions of all owners, page by page, after everything derived is up to date."""
    await store.finish_deletions()
    found: list[OwnedSession] = []
    while True:
        page = await store.admin.list_sessions(SessionQuery(**query))
        assert len(page.sessions) <= query.get("limit", 50)
        found += page.sessions
        if page.cursor is None:
            return found
        query["cursor"] = page.cursor


async def named(store: AsyncStore, **query: Any) -> list[tuple[str, str]]:
    """List owners and ids of the sessions of all owners, in an order of names."""
    return sorted((it.owner, it.session.id) for it in await of_all(store, **query))


class AsyncOrderContract(AsyncContractBase):
    """Orders go by seconds, and within a second by creation; backwards they are the reverse."""

    @pytest.mark.parametrize("order", ["active", "created", "updated"])
    async def test_an_order_goes_both_ways_by_pages_of_any_size(
        self, store: AsyncStore, clock: Clock, order: str
    ) -> None:
        names = [f"s{n}" for n in range(7)]
        for name in names:
            await store.create_session(ADA, NewSession(id=name))
        # Two at each of three times, and two of one second; later ones were active earlier.
        for n, name in enumerate(names[:6]):
            active_us = EARLY_US + (3 - n // 2) * 10_000_000 + n * 100
            await store.update_session(ADA, name, SessionPatch(active_us=active_us))
            if n % 2:
                clock.advance(1.1)
        await store.append(ADA, "s0", [say("m", created_us=EARLY_US)])
        await store.finish_deletions()
        places = []
        for n, name in enumerate(names):
            record = await record_of(store, name)
            times = {"active": record.active_us, "updated": record.updated_us, "created": 0}
            places.append((times[order] // 1_000_000, n, name))
        expected = [name for _, _, name in sorted(places)]
        for limit in (1, 2, 3, 6, 7, 8):
            forward = await listed(store, order=order, limit=limit, reverse=True)
            assert (limit, forward) == (limit, expected)
            backward = await listed(store, order=order, limit=limit)
            assert (limit, backward) == (limit, expected[::-1])

    async def test_the_last_written_comes_first_when_asked_for(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        for name in "abc":
            await grow(store, session=name)
            clock.advance(1.1)
        await store.update_session(ADA, "b", SessionPatch(title="t"))
        clock.advance(1.1)
        await grow(store, "m", session="a")
        assert await listed(store, order="updated") == ["a", "b", "c"]
        assert await listed(store, order="updated", reverse=True) == ["c", "b", "a"]
        assert await listed(store, order="updated", title_prefix="t") == ["b"]

    @pytest.mark.parametrize("order", ["active", "created", "updated"])
    async def test_all_kinds_come_in_one_order(
        self, store: AsyncStore, clock: Clock, order: str
    ) -> None:
        for n in range(9):
            await store.create_session(ADA, NewSession(id=f"s{n}", kind="abc"[n % 3]))
            clock.advance(0.4)
        expected = [f"s{n}" for n in range(9)]
        for limit in (1, 2, 5, 9):
            query = {"kind": None, "order": order, "limit": limit}
            assert await listed(store, **query) == expected[::-1]
            assert await listed(store, **query, reverse=True) == expected
        assert await listed(store, kind="b", order=order, limit=2) == ["s7", "s4", "s1"]

    async def test_rule_15_a_cursor_of_another_order_is_refused(self, store: AsyncStore) -> None:
        for n in range(3):
            await grow(store, session=f"s{n}")
        await store.finish_deletions()
        orders: list[Literal["active", "created", "updated"]] = ["active", "created", "updated"]
        for order in orders:
            page = await store.list_sessions(ADA, SessionQuery(order=order, limit=1))
            for other in orders:
                query = SessionQuery(order=other, cursor=page.cursor)
                if other != order:
                    with pytest.raises(UsageError):
                        await store.list_sessions(ADA, query)


class AsyncLookUpContract(AsyncContractBase):
    """What a session is found by follows its record, whoever changes it, and goes with it."""

    async def test_a_patch_that_comes_with_an_append_moves_it(self, store: AsyncStore) -> None:
        new = NewSession(id="s", tags=["x", "both"], title="one", state="new")
        await store.create_session(ADA, new)
        patch = SessionPatch(tags=["y", "both"], title="two", state="old")
        await store.append(ADA, "s", [say("m")], patch=patch)
        before: list[dict[str, Any]] = [{"tags": ["x"]}, {"title_prefix": "one"}, {"state": "new"}]
        for query in before:
            assert await listed(store, **query) == []
        after: list[dict[str, Any]] = [
            {"tags": ["y"]},
            {"tags": ["both"]},
            {"tags": ["both", "y"]},
            {"title_prefix": "two"},
            {"state": "old"},
            {"state": "old", "kind": None},
            {"state": "old", "tags": ["y"], "title_prefix": "t"},
        ]
        for query in after:
            assert await listed(store, **query) == ["s"], query
        await store.append(ADA, "s", [say("m2")], patch=SessionPatch(title=None, tags=[]))
        assert await listed(store, tags=["both"]) == await listed(store, title_prefix="t") == []

    @pytest.mark.parametrize("detach", [False, True])
    async def test_a_fork_is_found_by_the_tags_that_it_takes(
        self, store: AsyncStore, detach: bool
    ) -> None:
        await store.create_session(ADA, NewSession(id="s", tags=["x", "y"], title="t", state="a"))
        await grow(store, "m1", "m2")
        for message in ("m1", None):
            fork = fork_of("s", message, id=f"at {message}", detach=detach)
            await store.create_session(ADA, fork)
        fork = replace(fork_of("s", "m1", id="own", detach=detach), tags=["z"], title="tt")
        await store.create_session(ADA, fork)
        assert await listed(store, tags=["x"]) == ["at None", "at m1", "s"]
        assert await listed(store, tags=["z"]) == await listed(store, title_prefix="tt") == ["own"]
        assert await listed(store, title_prefix="t") == ["own", "s"]
        assert await listed(store, state="active") == ["own", "at None", "at m1"]

    async def test_what_is_gone_is_not_found_nor_its_like_of_another_owner(
        self, store: AsyncStore
    ) -> None:
        new = NewSession(id="s", tags=["x", "x"], title="t", state="a")
        queries = ({"tags": ["x"]}, {"title_prefix": "t"}, {"state": "a"})
        for owner in (ADA, "bob"):
            await store.create_session(owner, new)
            await grow(store, "m", owner=owner)
        await store.clear_session(ADA, "s")
        for query in queries:
            assert await listed(store, **query) == ["s"], query
        await store.delete_session(ADA, "s")
        for query in queries:
            assert await listed(store, **query) == [], query
        await store.create_session(ADA, NewSession(id="s"))
        for query in queries:
            assert await listed(store, **query) == [], query
        await store.erase_owner("bob")
        await store.finish_deletions()
        await store.create_session("bob", new)
        page = await store.list_sessions("bob", SessionQuery(tags=["x"], title_prefix="t"))
        assert [it.id for it in page.sessions] == ["s"]

    async def test_titles_of_any_length_are_told_apart_by_any_prefix(
        self, store: AsyncStore
    ) -> None:
        long = "é" * 120
        titles = {"a": f"{long}a", "b": f"{long}b", "c": long, "d": "é", "e": "é\0\n%_"}
        for id, title in titles.items():
            await store.create_session(ADA, NewSession(id=id, title=title))
        for prefix in ("é", "é\0", long[:40], long[:41], long, f"{long}a", "e", "É"):
            expected = [id for id in "edcba" if titles[id].startswith(prefix)]
            assert await listed(store, title_prefix=prefix) == expected, prefix

    async def test_look_ups_have_pages_in_every_order_too(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        for n in range(8):
            tags = ["odd" if n % 2 else "even", "all"]
            state = "low" if n < 4 else "high"
            new = NewSession(id=f"s{n}", tags=tags, title=f"t{n % 3}", state=state)
            await store.create_session(ADA, new)
            clock.advance(0.4)
        for order in ("active", "created", "updated"):
            for reverse in (False, True):
                query = {"order": order, "reverse": reverse, "limit": 1}
                way = 1 if reverse else -1
                odd = await listed(store, **query, tags=["all", "odd"])
                assert odd == ["s1", "s3", "s5", "s7"][::way]
                assert await listed(store, **query, title_prefix="t1") == ["s1", "s4", "s7"][::way]
                high = await listed(store, **query, state="high", tags=["all"])
                assert high == ["s4", "s5", "s6", "s7"][::way]


class AsyncOwnerListingContract(AsyncContractBase):
    """Operators list the sessions of all owners, each with its owner."""

    async def make(self, store: AsyncStore) -> None:
        """Make sessions of three owners, kinds and states, active at different times."""
        for n, owner in enumerate(["ada", "bob", "é%"]):
            for m in range(6):
                state, kind = "new" if m % 2 else "old", "chat" if m < 4 else "facts"
                await store.create_session(owner, NewSession(id=f"s{m}", state=state, kind=kind))
                patch = SessionPatch(active_us=EARLY_US + (n * 6 + m) // 2 * 1_000_000)
                await store.update_session(owner, f"s{m}", patch)

    async def test_of_no_owners_there_is_nothing(self, store: AsyncStore) -> None:
        page = await store.admin.list_sessions(SessionQuery())
        assert (page.sessions, page.cursor) == ([], None)

    @pytest.mark.parametrize("limit", [1, 2, 4, 50])
    async def test_sessions_come_once_with_their_owners_and_backwards_the_other_way_round(
        self, store: AsyncStore, limit: int
    ) -> None:
        await self.make(store)
        owners = ["ada", "bob", "é%"]
        for kind, state, ids in (
            ("chat", None, "0123"),
            ("chat", "new", "13"),
            ("facts", "old", "4"),
            (None, "old", "024"),
            (None, None, "012345"),
            ("facts", "none", ""),
        ):
            found = await of_all(store, kind=kind, state=state, limit=limit)
            pairs = [(it.owner, it.session.id) for it in found]
            assert sorted(pairs) == [(owner, f"s{id}") for owner in owners for id in ids]
            back = await of_all(store, kind=kind, state=state, limit=limit, reverse=True)
            assert back == found[::-1]
        for it in await of_all(store, kind=None, limit=limit):
            assert it.session == await record_of(store, it.session.id, it.owner)

    async def test_ranges_of_time_are_as_for_one_owner(self, store: AsyncStore) -> None:
        await self.make(store)
        start = datetime_of(EARLY_US + 2_000_000)
        until = start + timedelta(seconds=2)
        found = await named(store, kind=None, active_from=start, active_until=until)
        assert found == [("ada", "s4"), ("ada", "s5"), ("bob", "s0"), ("bob", "s1")]
        assert await named(store, active_until=datetime_of(EARLY_US)) == []
        assert len(await named(store, active_from=start, state="new", limit=1)) == 4
        created = (await record_of(store, "s5", "é%")).created_at
        assert ("é%", "s5") in await named(store, kind="facts", created_from=created)
        assert await named(store, kind=None, created_until=datetime_of(EARLY_US)) == []

    async def test_it_follows_what_happens_to_sessions(self, store: AsyncStore) -> None:
        await self.make(store)
        await store.append("bob", "s1", [say("m")], patch=SessionPatch(state="gone"))
        await store.update_session(ADA, "s2", SessionPatch(state="gone", closed=True))
        assert await named(store, state="gone") == [("ada", "s2"), ("bob", "s1")]
        said = (await record_of(store, "s1", "bob")).active_at
        assert await named(store, active_from=said) == [("bob", "s1")]
        await store.create_session("bob", fork_of("s1", id="fork"))
        assert ("bob", "fork") in await named(store, state="active")
        await store.clear_session("bob", "s1")
        await store.delete_session(ADA, "s2")
        assert await named(store, state="gone") == [("bob", "s1")]
        await store.erase_owner("bob")
        await store.put_document("bob", "k", b"")
        assert {owner for owner, _ in await named(store, kind=None)} == {"ada", "é%"}

    async def test_pages_go_on_while_sessions_come_and_go(self, store: AsyncStore) -> None:
        await self.make(store)
        query = SessionQuery(kind=None, limit=3)
        first = await store.admin.list_sessions(query)
        for it in first.sessions:
            await store.delete_session(it.owner, it.session.id)
        await store.finish_deletions()
        seen = [(it.owner, it.session.id) for it in first.sessions]
        cursor = first.cursor
        while cursor is not None:
            page = await store.admin.list_sessions(replace(query, cursor=cursor))
            seen += [(it.owner, it.session.id) for it in page.sessions]
            cursor = page.cursor
        assert len(seen) == len(set(seen)) == 18

    async def test_rule_15_what_is_of_one_owners_sessions_is_refused(
        self, store: AsyncStore
    ) -> None:
        for query in (
            SessionQuery(tags=["x"]),
            SessionQuery(key=("a",)),
            SessionQuery(title_prefix="t"),
            SessionQuery(parent="s"),
            SessionQuery(order="created"),
            SessionQuery(limit=0),
            SessionQuery(cursor="x"),
            SessionQuery(cursor="[1]"),
        ):
            with pytest.raises(UsageError):
                await store.admin.list_sessions(query)

    async def test_keys_and_routes_of_owners_do_not_mix(self, store: AsyncStore) -> None:
        system = SystemFields(key=("agent",), reason="done")
        for owner in (ADA, "bob"):
            await store.create_session(owner, NewSession(id="s", system=system, state="ending"))
        [one, other] = await of_all(store, state="ending")
        assert {one.owner, other.owner} == {ADA, "bob"}
        assert one.session.system == other.session.system == system
