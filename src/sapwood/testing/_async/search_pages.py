"""Pages of a search: nothing twice and nothing left out, whatever happens between two of them."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import UsageError
from ...model import ForkPoint, Hit, NewSession, Search
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, say
from .base import names_what
from .search_base import AsyncSearchBase, AsyncSearcher, make, tell, written

LONG_AGO = 1_714_521_600_000_000


def names(pages: list[list[Hit]]) -> list[str]:
    """Write down what was found on pages."""
    return [name for page in pages for name in written(page)]


class AsyncSearchPageContract(AsyncSearchBase):
    """A search goes on where its last page ended."""

    @pytest.mark.parametrize("limit", [1, 4, 11, 12, 13])
    async def test_pages_give_everything_once_the_newest_first(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock, limit: int
    ) -> None:
        for number in range(6):
            clock.advance(2)
            await tell(store, "ab"[number % 2], **{f"m{number}": f"lighthouse {'x ' * number}"})
            if number == 2:
                await find.rest()
        clock.advance(2)
        await store.add_overlay(ADA, "a", cover("m0", "m4", id="o", summary="lighthouse"))
        for number in range(6, 11):
            clock.advance(2)
            await tell(store, "ab"[number % 2], **{f"m{number}": "a lighthouse", f"n{number}": "x"})
        pages = await find.pages("lighthouse", limit=limit)
        later = [f"{'ab'[n % 2]}/m{n}" for n in range(10, 5, -1)]
        sooner = [f"{'ab'[n % 2]}/m{n}" for n in range(5, -1, -1)]
        assert names(pages) == [*later, "a/<o>", *sooner]
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)

    @pytest.mark.parametrize("limit", [1, 5])
    async def test_what_has_one_and_the_same_time_comes_once(
        self, store: AsyncStore, find: AsyncSearcher, limit: int
    ) -> None:
        for session in ("a", "b", "c"):
            await make(store, session)
            texts = [say(f"m{n}", "lighthouse", created_us=LONG_AGO) for n in range(6)]
            await store.append(ADA, session, texts)
            await store.add_overlay(ADA, session, cover("m0", "m1", id="o", summary="lighthouse"))
            if session == "b":
                await find.rest()
        found = names(await find.pages("lighthouse", limit=limit))
        assert sorted(found) == sorted(set(found))
        assert len(found) == 21
        in_session = names(await find.pages("lighthouse", "b", limit=limit))
        assert sorted(in_session) == sorted(["b/<o>", *(f"b/m{n}" for n in range(6))])

    @pytest.mark.parametrize("settles", [False, True])
    async def test_what_was_there_at_the_first_page_comes_whatever_is_written_meanwhile(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock, settles: bool
    ) -> None:
        await tell(store, **{f"m{n}": f"lighthouse {n}" for n in range(8)})
        await find.rest()
        await tell(store, "t", **{f"t{n}": f"lighthouse {n}" for n in range(8)})
        clock.advance(2)
        news = iter(range(100))

        async def write(page: list[Hit]) -> None:
            number = next(news)
            clock.advance(2)
            await tell(store, "t", **{f"new{number}": "a new lighthouse"})
            old = say(f"old{number}", "an old lighthouse", created_us=LONG_AGO)
            await store.append(ADA, "s", [old])
            edited = say(page[-1].entry.id, "an edited lighthouse")
            await store.update_message(ADA, page[-1].session, edited)
            await store.update_message(ADA, "s", say("m1", f"lighthouse {number}, edited"))
            if settles:
                await store.finish_deletions()

        found = names(await find.pages("lighthouse", limit=3, between=write))
        assert sorted(found) == sorted(set(found))
        first = {*(f"s/m{n}" for n in range(8)), *(f"t/t{n}" for n in range(8))}
        assert first <= set(found)

    @pytest.mark.parametrize("settles", [False, True])
    async def test_the_place_of_a_cursor_stays_when_what_stands_there_is_deleted(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock, settles: bool
    ) -> None:
        await tell(store, **{f"m{n}": f"lighthouse {n}" for n in range(6)})
        await find.rest()
        clock.advance(2)
        await tell(store, **{f"n{n}": f"lighthouse {n}" for n in range(6)})

        async def delete(page: list[Hit]) -> None:
            await store.delete_messages(ADA, "s", [hit.entry.id for hit in page])
            await tell(store, **{f"x{page[0].entry.id}": "a lighthouse"})
            if settles:
                await store.finish_deletions()

        found = names(await find.pages("lighthouse", limit=2, between=delete))
        assert sorted(found) == sorted(set(found))
        assert {f"s/{name}{n}" for n in range(6) for name in "mn"} <= set(found)

    async def test_what_matches_no_more_is_not_on_a_later_page(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        ids = [f"m{n}" for n in range(6)]
        await tell(store, **dict.fromkeys(ids, "lighthouse"))
        await find.rest()

        async def change(page: list[Hit]) -> None:
            if len(ids) == 6:
                ids.remove(page[0].entry.id)
                await store.delete_messages(ADA, "s", ids[:2])
                await store.update_message(ADA, "s", say(ids[2], "harbour"))

        pages = await find.pages("lighthouse", limit=1, between=change)
        assert sorted(hit.entry.id for page in pages[1:] for hit in page) == ids[3:]

    async def test_older_summaries_of_sessions_that_have_newer_ones_come_in_their_turn(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock
    ) -> None:
        for session in ("a", "b", "c"):
            await tell(store, session, **{f"m{n}": "x" for n in range(3)})
        expected: list[str] = []
        for n in range(3):
            for session in ("a", "b", "c"):
                clock.advance(2)
                new = cover(f"m{n}", f"m{n}", id=f"{session}{n}", summary="lighthouse")
                await store.add_overlay(ADA, session, new)
                expected.insert(0, f"{session}/<{session}{n}>")
            if n == 1:
                await find.rest()
        assert names(await find.pages("lighthouse", limit=2)) == expected
        in_session = [name for name in expected if name.startswith("b")]
        assert names(await find.pages("lighthouse", "b", limit=1)) == in_session

    async def test_what_a_deleted_session_leaves_to_forks_comes_once(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, "home", **{f"m{n}": "lighthouse" for n in range(6)})
        fork = ForkPoint(session="home", message="m5")
        await store.create_session(ADA, NewSession(id="fork", fork=fork))
        await find.rest()

        async def delete(page: list[Hit]) -> None:
            if await store.find_session(ADA, "home") is not None:
                await store.delete_session(ADA, "home")

        pages = await find.pages("lighthouse", limit=2, between=delete)
        found = [hit.entry.id for page in pages for hit in page]
        assert sorted(found) == [f"m{n}" for n in range(6)]
        assert {hit.session for page in pages[1:] for hit in page} == {"fork"}

    @pytest.mark.parametrize("limit", [1, 4])
    async def test_pages_of_a_ranked_search_give_everything_once(
        self, store: AsyncStore, find: AsyncSearcher, limit: int
    ) -> None:
        await tell(store, **{f"m{n}": f"lighthouse {'harbour ' * n}" for n in range(6)})
        await find.rest()
        await tell(store, **{f"n{n}": f"harbour {'x ' * n}" for n in range(6)})
        query = "lighthouse OR harbour"
        # What is indexed meanwhile may move a hit to another page: then the order is another, too.
        before: list[str] = []
        whole = written((await find.hits(query)).hits)
        while before != whole:
            before = whole
            found = names(await find.pages(query, limit=limit))
            whole = written((await find.hits(query)).hits)
        assert len(whole) == 12
        assert found == whole

    async def test_rule_15_a_cursor_of_another_search_is_refused(self, store: AsyncStore) -> None:
        await tell(store, m1="lighthouse", m2="lighthouse", m3="lighthouse")
        await tell(store, owner="bob", m1="lighthouse", m2="lighthouse")
        asked: dict[str, Any] = {"text": "lighthouse", "limit": 1, "session": None}
        cursor = (await store.search(ADA, Search(**asked))).cursor
        ranked = Search(text="lighthouse OR x", limit=1)
        other = (await store.search(ADA, ranked)).cursor
        assert cursor
        assert other
        wrong: list[tuple[str, dict[str, Any], Any]] = [
            (ADA, {"text": "lighthouses"}, cursor),
            (ADA, {"session": "s"}, cursor),
            (ADA, {"limit": 2}, cursor),
            ("bob", {}, cursor),
            *((ADA, {}, bad) for bad in ("", "x", "é", cursor[:-1], f"{cursor}A", other)),
            *((ADA, {}, bad) for bad in (7, b"x", [cursor], "a\ud800")),
        ]
        for owner, fields, bad in wrong:
            with pytest.raises(UsageError) as raised:
                await store.search(owner, Search(**{**asked, **fields, "cursor": bad}))
            assert names_what(raised.value)
            assert raised.value.path == "cursor"
