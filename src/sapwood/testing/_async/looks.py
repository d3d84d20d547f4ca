"""Looks around: what messages follow, all there are on every branch, and who wrote an id."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import NotFoundError
from ...model import ROOT, Entry, Message, NewSession, Position, Summary
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import AsyncContractBase, grow, history_of, message_in, shown_in


async def all_messages(store: AsyncStore, session: str = "s", page: int = 500) -> list[Message]:
    """List all that a session sees, in pages of a size."""
    found: list[Message] = []
    after: Position | None = None
    while True:
        given = await store.list_messages(ADA, session, after=after, limit=page)
        found += given.messages
        if not given.more:
            assert len(given.messages) <= page
            return found
        assert len(given.messages) == page
        after = found[-1].position


async def branched(store: AsyncStore) -> None:
    """Make a session with three branches, and two messages deleted."""
    await grow(store, "m1", "m2", "m3")
    await store.append(ADA, "s", [say("a1"), say("a2")], parent="m1")
    await store.append(ADA, "s", [say("r1")], parent=ROOT)
    await store.append(ADA, "s", [say("m4")], parent="m3")
    await store.delete_messages(ADA, "s", ["m2", "r1"])


class AsyncParentContract(AsyncContractBase):
    """What a message follows is told by its id, also where either was deleted."""

    async def test_parents_come_in_the_order_asked(self, store: AsyncStore) -> None:
        await branched(store)
        asked = ["a2", "m3", "nothing", "m1", "a1", "m2", "r1", "m4", "a2"]
        expected = ["a1", "m2", None, ROOT, "m1", "m1", ROOT, "m3", "a1"]
        assert await store.find_parents(ADA, "s", asked) == expected
        assert await store.find_parents(ADA, "s", []) == []

    async def test_a_fork_sees_parents_down_to_its_fork_point(self, store: AsyncStore) -> None:
        await branched(store)
        await store.create_session(ADA, fork_of("s", "m3"))
        await grow(store, "f1", session="fork")
        asked = ["f1", "m3", "m2", "m1", "m4", "a1"]
        expected = ["m3", "m2", "m1", ROOT, None, None]
        assert await store.find_parents(ADA, "fork", asked) == expected
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert await store.find_parents(ADA, "fork", asked) == expected


class AsyncStreamContract(AsyncContractBase):
    """All that a session sees comes as one stream by position, each message once."""

    async def test_messages_of_all_branches_come_after_what_they_follow(
        self, store: AsyncStore
    ) -> None:
        await branched(store)
        found = await all_messages(store)
        assert ids_of([*found]) == ["m1", "m3", "m4", "a1", "a2"]
        assert [await message_in(store, it.id) for it in found] == found

    @pytest.mark.parametrize("page", [1, 2, 3, 4, 5, 6])
    async def test_pages_of_any_size_give_each_message_once(
        self, store: AsyncStore, page: int
    ) -> None:
        await branched(store)
        await store.create_session(ADA, fork_of("s", "a1"))
        await grow(store, "f1", "f2", session="fork")
        await store.append(ADA, "fork", [say("f3")], parent="m1")
        assert ids_of([*await all_messages(store, page=page)]) == ["m1", "m3", "m4", "a1", "a2"]
        forked = await all_messages(store, "fork", page)
        assert ids_of([*forked]) == ["m1", "a1", "f1", "f2", "f3"]

    async def test_a_full_page_that_is_the_last_says_so(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.delete_messages(ADA, "s", ["m3"])
        page = await store.list_messages(ADA, "s", limit=2)
        assert (ids_of([*page.messages]), page.more) == (["m1", "m2"], False)
        rest = await store.list_messages(ADA, "s", after=page.messages[-1].position)
        assert (rest.messages, rest.more) == ([], False)

    async def test_an_empty_session_has_an_empty_stream(self, store: AsyncStore) -> None:
        await grow(store)
        assert (await store.list_messages(ADA, "s")).messages == []
        await store.create_session(ADA, fork_of("s", ROOT))
        assert (await store.list_messages(ADA, "fork")).messages == []

    async def test_a_session_with_a_segment_for_each_message_is_listed_whole(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m0", "x0")
        for n in range(1, 80):
            await store.append(ADA, "s", [say(f"m{n}"), say(f"x{n}")], parent=f"m{n - 1}")
        expected = [id for n in range(80) for id in (f"m{n}", f"x{n}")]
        assert ids_of([*await all_messages(store)]) == expected
        assert ids_of([*await all_messages(store, page=30)]) == expected
        await store.create_session(ADA, fork_of("s", "m70"))
        await grow(store, "f", session="fork")
        inherited = [f"m{n}" for n in range(71)]
        assert ids_of([*await all_messages(store, "fork", 30)]) == [*inherited, "f"]

    async def test_it_goes_on_after_any_position_that_is_seen(self, store: AsyncStore) -> None:
        await branched(store)
        [gap, *_] = await store.list_gaps(ADA, "s", "m4")
        assert gap.id == "m2"
        after = await store.list_messages(ADA, "s", after=gap.position)
        assert ids_of([*after.messages]) == ["m3", "m4", "a1", "a2"]
        end = (await message_in(store, "m4")).position
        await store.append(ADA, "s", [say("m5"), say("m6")], parent="m4")
        after = await store.list_messages(ADA, "s", after=end, limit=1)
        assert (ids_of([*after.messages]), after.more) == (["m5"], True)

    async def test_rule_07_a_position_that_is_not_seen_is_an_error(self, store: AsyncStore) -> None:
        await branched(store)
        await store.create_session(ADA, fork_of("s", "m3"))
        await grow(store, "x1", session="other")
        beyond = (await message_in(store, "m4")).position
        branch = (await message_in(store, "a1")).position
        first = (await message_in(store, "m1")).position
        elsewhere = [Position("nothing", 1), Position("0", 1), Position("9" * 30, 1)]
        above = Position(branch.segment, 1)
        cases = [("fork", beyond), ("fork", branch), ("s", above)]
        for session, at in [*cases, *(("s", it) for it in elsewhere)]:
            with pytest.raises(NotFoundError) as raised:
                await store.list_messages(ADA, session, after=at)
            assert raised.value.kind == "position"
            assert raised.value.id == f"{at.segment}.{at.depth}"
        await store.clear_session(ADA, "s")
        await store.append(ADA, "s", [say("n1")])
        with pytest.raises(NotFoundError):
            await store.list_messages(ADA, "s", after=first)
        assert ids_of([*await all_messages(store)]) == ["n1"]
        assert ids_of([*await all_messages(store, "fork")]) == ["m1", "m3"]

    async def test_overlays_hide_nothing_of_the_stream(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1"))
        assert ids_of([*await all_messages(store)]) == ["m1", "m2", "m3"]


class AsyncHomesContract(AsyncContractBase):
    """An id is found in each session that wrote a message of it."""

    async def test_all_sessions_that_wrote_an_id_are_found(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", session="b")
        await grow(store, "m1", session="a")
        await grow(store, "other", session="c")
        await store.create_session(ADA, fork_of("b", id="fork"))
        await store.create_session(ADA, fork_of("b", id="copy", detach=True))
        await grow(store, "m1", session="x", owner="bob")
        assert await store.find_homes(ADA, "m1") == ["a", "b", "copy"]
        assert await store.find_homes("bob", "m1") == ["x"]
        assert await store.find_homes(ADA, "nothing") == []
        assert await store.find_homes("nobody", "m1") == []

    async def test_what_was_deleted_or_cleared_is_not_found(self, store: AsyncStore) -> None:
        for session in ("a", "b", "c", "d"):
            await grow(store, "m1", "m2", session=session)
        await store.create_session(ADA, fork_of("a", "m1"))
        await store.delete_messages(ADA, "b", ["m1"])
        await store.clear_session(ADA, "c")
        await store.delete_session(ADA, "a")
        assert await store.find_homes(ADA, "m1") == ["d"]
        await store.create_session(ADA, NewSession(id="a"))
        await store.append(ADA, "c", [say("m1")])
        assert await store.find_homes(ADA, "m1") == ["c", "d"]
        assert await store.find_homes(ADA, "m2") == ["b", "d"]


class AsyncBodilessContract(AsyncContractBase):
    """A path is read without what was said, and all else is as it is with it."""

    @pytest.mark.parametrize(
        "query",
        [
            {},
            {"overlays": False},
            {"limit": 2},
            {"limit": 2, "backwards": True},
            {"leaf": "m3"},
            {"leaf": "m3", "overlays": False},
            {"leaf": ROOT},
            {"max_bytes": 200, "overlays": False},
            {"max_bytes": 200, "backwards": True},
            {"after": 1, "before": 5},
        ],
    )
    async def test_all_but_the_bodies_is_given(
        self, store: AsyncStore, query: dict[str, Any]
    ) -> None:
        await grow(store, "m1")
        said = [say("m2", "é" * 50, name="Ann", metadata={"k": 1}, extra={"e": 2}), say("m3")]
        await store.append(ADA, "s", [*said, say("m4"), say("m5"), say("m6")])
        await store.delete_messages(ADA, "s", ["m5"])
        if query.get("overlays", True):
            await store.add_overlay(ADA, "s", cover("m1", "m3", id="o1"))
            await store.put_document(ADA, "pins", b'["m2"]', session="s")
        for session in ("s", "fork"):
            for _ in range(2):
                whole = await history_of(store, session, **query)
                bare = await history_of(store, session, bodies=False, **query)
                assert bare == replace(whole, entries=[_bare(it) for it in whole.entries])
            if session == "s":
                await store.create_session(ADA, fork_of("s"))
                await grow(store, "f1", session="fork")

    async def test_a_session_of_one_segment_is_read_without_bodies(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        whole = await history_of(store)
        for _ in range(2):
            bare = await history_of(store, bodies=False)
            assert bare == replace(whole, entries=[_bare(it) for it in whole.entries])
        assert await shown_in(store) == ["m1", "m2", "m3"]


def _bare(entry: Entry) -> Entry:
    if isinstance(entry, Summary):
        pinned = [it for it in map(_bare, entry.pinned) if isinstance(it, Message)]
        return replace(entry, pinned=pinned)
    return replace(entry, parts=[], metadata={}, extra={}, name=None)
