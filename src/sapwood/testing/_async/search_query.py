"""What can be asked, and how it is told: the language, filters, limits, scores and snippets."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import UsageError
from ...model import Hit, NewSession, Search, SessionPatch
from ...rules.check import MAX_HITS
from ...rules.match import MessageFacts, matches
from ...rules.query import parse
from ...rules.text import fold
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, say
from ..queries import QUERIES, REFUSED
from .base import names_what
from .search_base import AsyncSearchBase, AsyncSearcher, tell, written

TEXTS = sorted({text for case in QUERIES for text in (*case.finds, *case.finds_not)})


class AsyncQueryContract(AsyncSearchBase):
    """A query finds what the rules say, whichever way a store looks for it."""

    async def test_every_query_of_the_table_finds_what_it_must_and_nothing_else(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        texts = {f"m{n:03}": text for n, text in enumerate(TEXTS)}
        ids = {text: id for id, text in texts.items()}
        half = len(texts) // 2
        await tell(store, **dict(list(texts.items())[:half]))
        await find.rest()
        await tell(store, **dict(list(texts.items())[half:]))
        await find.hits("settle where that is asked for")
        wrong: list[str] = []
        for case in QUERIES:
            hits = await store.search(ADA, Search(text=case.query, session="s", limit=MAX_HITS))
            found = {hit.entry.id for hit in hits.hits}
            missed = [text for text in case.finds if ids[text] not in found]
            extra = [text for text in case.finds_not if ids[text] in found]
            query, facts = parse(case.query), MessageFacts(role="user", created_us=0)
            by_rule = {id for id, text in texts.items() if matches(query, fold(text), facts)}
            if missed or extra or found != by_rule:
                wrong.append(f"{case.query[:40]!r}: missed {missed}, found {extra}")
        assert wrong == []

    @pytest.mark.parametrize("query", REFUSED)
    async def test_rule_15_a_query_with_nothing_to_look_for_is_refused(
        self, store: AsyncStore, query: str
    ) -> None:
        await tell(store, m1="a b not x")
        with pytest.raises(UsageError) as raised:
            await store.search(ADA, Search(text=query))
        assert names_what(raised.value)
        assert raised.value.path == "query"

    @pytest.mark.parametrize(
        "fields",
        [
            {"text": 7},
            {"text": None},
            {"text": b"x"},
            {"text": ["x"]},
            {"text": "x", "limit": 0},
            {"text": "x", "limit": -1},
            {"text": "x", "limit": MAX_HITS + 1},
            {"text": "x", "limit": 1.5},
            {"text": "x", "limit": True},
            {"text": "x", "limit": "5"},
            {"text": "x", "session": ""},
            {"text": "x", "session": 7},
            {"text": "x", "session": "a\nb"},
            {"text": "x", "session": "s" * 257},
            {"text": "x", "kind": ""},
            {"text": "x", "kind": 7},
        ],
        ids=str,
    )
    async def test_rule_15_wrong_arguments_of_a_search_are_refused(
        self, store: AsyncStore, fields: dict[str, Any]
    ) -> None:
        await tell(store, m1="x")
        with pytest.raises(UsageError) as raised:
            await store.search(ADA, Search(**fields))
        assert names_what(raised.value)

    async def test_rule_15_what_is_no_search_and_who_is_no_owner_is_refused(
        self, store: AsyncStore
    ) -> None:
        await tell(store, m1="x")
        wrong: list[tuple[Any, Any]] = [
            (ADA, "x"),
            (ADA, None),
            (ADA, {"text": "x"}),
            ("", Search(text="x")),
            (None, Search(text="x")),
            ("a\n", Search(text="x")),
        ]
        for owner, search in wrong:
            with pytest.raises(UsageError):
                await store.search(owner, search)


class AsyncFilterContract(AsyncSearchBase):
    """Filters say what a message or its session has to be, or must not be."""

    async def test_by_role(self, store: AsyncStore, find: AsyncSearcher) -> None:
        await tell(store, u="lighthouse")
        await tell(store, role="assistant", a="lighthouse")
        await find.rest()
        await tell(store, role="tool", t="lighthouse")
        await tell(store, role="Critic", c="lighthouse")
        await store.add_overlay(ADA, "s", cover("u", "a", id="o", summary="lighthouse"))
        assert await find("lighthouse role:user") == ["s/u"]
        assert await find("role:tool lighthouse", "s") == ["s/t"]
        assert await find("lighthouse role:critic") == ["s/c"]
        assert await find("lighthouse role:summary") == ["s/<o>"]
        assert await find("lighthouse NOT role:user") == ["s/<o>", "s/a", "s/c", "s/t"]
        assert await find("lighthouse role:use") == []
        assert await find("lighthouse role:user OR lighthouse role:tool") == ["s/t", "s/u"]

    async def test_by_title_as_it_is_now(self, store: AsyncStore, find: AsyncSearcher) -> None:
        for id, title in (("a", "Trip to the Coast"), ("b", "Ünder way"), ("c", None)):
            await store.create_session(ADA, NewSession(id=id, title=title))
            await tell(store, id, m1="lighthouse")
        await find.rest()
        assert await find("lighthouse title:coast") == ["a/m1"]
        assert await find('lighthouse title:"the coast"') == ["a/m1"]
        assert await find("lighthouse title:UNDER") == ["b/m1"]
        assert await find("lighthouse NOT title:coast") == ["b/m1", "c/m1"]
        await store.update_session(ADA, "c", SessionPatch(title="the coast, again"))
        await store.update_session(ADA, "a", SessionPatch(title=None))
        assert await find("lighthouse title:coast") == ["c/m1"]

    async def test_by_tag_as_it_is_now(self, store: AsyncStore, find: AsyncSearcher) -> None:
        for id, tags in (("a", ["Coast", "north"]), ("b", ["coastal"]), ("c", [])):
            await store.create_session(ADA, NewSession(id=id, tags=tags))
            await tell(store, id, m1="lighthouse")
        await find.rest()
        assert await find("lighthouse tag:coast") == ["a/m1"]
        assert await find("lighthouse tag:coast tag:north") == ["a/m1"]
        assert await find("lighthouse NOT tag:coast") == ["b/m1", "c/m1"]
        await store.update_session(ADA, "c", SessionPatch(tags=["coast"]))
        await store.update_session(ADA, "a", SessionPatch(tags=[]))
        assert await find("lighthouse tag:coast") == ["c/m1"]

    async def test_by_time(self, store: AsyncStore, find: AsyncSearcher) -> None:
        await tell(store, m0="x")
        days = {"m1": 1_714_435_200, "m2": 1_714_521_600, "m3": 1_714_564_800}
        for id, second in days.items():
            message = say(id, "lighthouse", created_us=second * 1_000_000)
            await store.append(ADA, "s", [message])
        await find.rest()
        assert await find("lighthouse after:2024-05-01") == ["s/m2", "s/m3"]
        assert await find("lighthouse before:2024-05-01") == ["s/m1"]
        assert await find("lighthouse NOT after:2024-05-01") == ["s/m1"]
        assert await find("lighthouse NOT before:2024-05-01") == ["s/m2", "s/m3"]
        assert await find("lighthouse after:2024-05-01 before:2024-05-01T12:00") == ["s/m2"]
        assert await find("lighthouse after:2024-05-01T14:00:00+02:00") == ["s/m3"]
        assert await find("lighthouse after:2024-05-01T14:00:00.000001+02:00") == []

    async def test_by_the_stores_own_time(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock
    ) -> None:
        [first] = await tell(store, m1="lighthouse")
        clock.advance(2)
        [last] = await tell(store, m2="lighthouse")
        moment = last.created_at.isoformat()
        assert await find(f"lighthouse after:{moment}") == ["s/m2"]
        assert await find(f"lighthouse before:{moment}") == ["s/m1"]
        hits = {hit.entry.id: hit for hit in (await find.hits("lighthouse")).hits}
        assert hits["m1"].created_us == first.created_us
        assert hits["m2"].created_at == last.created_at


class AsyncHitContract(AsyncSearchBase):
    """A hit says where it stands and why it was found; the best come first."""

    async def test_a_hit_names_its_message(self, store: AsyncStore, find: AsyncSearcher) -> None:
        messages = await tell(store, role="assistant", m1="x", m2="the lighthouse")
        [hit] = (await find.hits("lighthouse")).hits
        assert (hit.session, hit.entry.kind, hit.entry.id) == ("s", "message", "m2")
        assert (hit.role, hit.position) == ("assistant", messages[1].position)
        assert hit.created_us == messages[1].created_us

    async def test_a_limit_cuts_off_and_says_so(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, **{f"m{n}": f"lighthouse {'x ' * n}" for n in range(15)})
        await find.rest()
        await tell(store, **{f"m{n}": f"lighthouse {'x ' * n}" for n in range(15, 30)})
        for limit in (1, 7, 15, 16, 29, 30, 31):
            hits = await find.hits("lighthouse", limit=limit)
            assert len(hits.hits) == min(limit, 30)
            assert (hits.cursor is not None) == (limit < 30)
            assert len(set(written(hits.hits))) == len(hits.hits)
        assert len((await find.hits("lighthouse")).hits) == 20

    async def test_many_that_match_are_all_given(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        for start in range(0, 900, 300):
            await tell(store, **{f"m{n}": f"lighthouse {n}" for n in range(start, start + 300)})
        await find.rest()
        await store.delete_messages(ADA, "s", [f"m{n}" for n in range(200, 700)])
        await tell(store, late="lighthouse")
        expected = sorted(["s/late", *(f"s/m{n}" for n in (*range(200), *range(700, 900)))])
        assert await find("lighthouse", limit=MAX_HITS) == expected
        assert await find("lighthouse", "s", limit=len(expected)) == expected
        assert (await find.hits("lighthouse", limit=400)).cursor

    async def test_the_best_come_first(self, store: AsyncStore, find: AsyncSearcher) -> None:
        filler = "and much more that has nothing to do with it " * 6
        await tell(
            store,
            much=f"lighthouse lighthouse lighthouse {filler}",
            little=f"lighthouse {filler}",
            rare=f"lighthouse zeppelin {filler}",
            short="lighthouse",
        )
        hits = (await find.hits("lighthouse OR zeppelin")).hits
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(hit.score > 0 for hit in hits)
        assert hits[0].entry.id == "rare"
        order = [hit.entry.id for hit in (await find.hits("lighthouse OR zebra")).hits]
        assert order.index("much") < order.index("little")
        assert order.index("short") < order.index("little")

    async def test_of_what_has_all_that_was_asked_for_the_newest_comes_first(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock
    ) -> None:
        for number in range(1, 6):
            clock.advance(2)
            await tell(store, **{f"m{number}": f"lighthouse {number * 'and ' * 9}"})
        for limit in (2, 5):
            hits = (await find.hits("lighthouse", limit=limit)).hits
            assert [hit.entry.id for hit in hits] == ["m5", "m4", "m3", "m2", "m1"][:limit]
            assert len({hit.score for hit in hits}) == 1

    async def test_the_newest_of_several_sessions_come_first(
        self, store: AsyncStore, find: AsyncSearcher, clock: Clock
    ) -> None:
        for number in range(4):
            for session in ("a", "b"):
                clock.advance(2)
                await tell(store, session, **{f"{session}{number}": "lighthouse"})
        await store.update_message(ADA, "a", say("a0", "an edited lighthouse"))
        hits = (await find.hits("lighthouse", limit=3)).hits
        assert [hit.entry.id for hit in hits] == ["b3", "a3", "b2"]
        hits = (await find.hits("lighthouse", limit=20)).hits
        assert [hit.entry.id for hit in hits] == ["b3", "a3", "b2", "a2", "b1", "a1", "b0", "a0"]

    async def test_a_snippet_shows_the_matches_and_marks_them(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        filler = "and so on and so forth " * 40
        await tell(
            store,
            m1=f"{filler} the Lighthouse at 部署 Straße {filler}",
            m2="LIGHTHOUSE\n\n\tkeeper: STRASSE 请部署服务",
        )
        for query, words in {
            "lighthouse": {"lighthouse"},
            "light*": {"light"},
            "部署": {"部署"},
            "strasse lighthouse": {"strasse", "lighthouse"},
        }.items():
            hits = (await find.hits(query)).hits
            assert len(hits) == 2
            for hit in hits:
                assert {fold(text) for text in marked(hit)} == words
                assert len(hit.snippet) < 250
                assert "\n" not in hit.snippet

    async def test_a_summarys_snippet_is_of_the_summary(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="one", m2="two")
        await store.add_overlay(ADA, "s", cover("m1", "m2", summary="We saw the lighthouse."))
        [hit] = (await find.hits("lighthouse")).hits
        assert hit.snippet == "We saw the lighthouse."
        assert marked(hit) == ["lighthouse"]


def marked(hit: Hit) -> list[str]:
    """Return what a hit marks in its snippet."""
    assert hit.marks == sorted(hit.marks)
    assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.marks)
    return [hit.snippet[start:end] for start, end in hit.marks]
