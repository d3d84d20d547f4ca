"""Where a search looks: in what a session sees, or in all that an owner has, and nowhere else."""

from __future__ import annotations

import pytest

from ...errors import NotFoundError
from ...model import ROOT, Search
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from .search_base import AsyncSearchBase, AsyncSearcher, make, tell


class AsyncSearchScopeContract(AsyncSearchBase):
    """A search in a session covers what the session sees."""

    async def test_a_session_is_searched_alone_or_with_all_others(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, "a", a1="the lighthouse", a2="h1 or o")
        await find.rest()
        await tell(store, "b", b1="a lighthouse", b2="h2 or o")
        assert await find("lighthouse") == ["a/a1", "b/b1"]
        assert await find("lighthouse", "a") == ["a/a1"]
        assert await find("lighthouse", "b") == ["b/b1"]
        # These might be taken for names that an index gives to sessions.
        assert await find("h1") == ["a/a2"]
        assert await find("h2", "a") == []
        assert await find("o") == ["a/a2", "b/b2"]

    async def test_the_same_id_in_two_sessions_is_two_messages(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, "a", m1="the lighthouse")
        await tell(store, "b", m1="the lighthouse")
        await find.rest()
        await store.delete_messages(ADA, "a", ["m1"])
        assert await find("lighthouse") == ["b/m1"]

    async def test_all_branches_of_a_session_are_searched(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="root", m2="lighthouse one")
        await store.append(ADA, "s", [say("x1", "lighthouse two")], parent="m1")
        await find.rest()
        await store.append(ADA, "s", [say("y1", "lighthouse three")], parent=ROOT)
        await store.checkout(ADA, "s", "m1")
        assert await find("lighthouse", "s") == ["s/m2", "s/x1", "s/y1"]

    async def test_a_session_that_is_empty_or_an_owner_who_has_none_finds_nothing(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse")
        await make(store, "empty")
        assert await find("lighthouse", "empty") == []
        assert await find("lighthouse", owner="nobody") == []

    async def test_rule_07_a_search_in_an_unknown_session_is_an_error(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, "gone", m1="the lighthouse")
        await store.delete_session(ADA, "gone")
        await tell(store, owner="bob", b1="the lighthouse")
        for session in ("nobody", "gone", "s"):
            with pytest.raises(NotFoundError) as raised:
                await find("lighthouse", session)
            assert (raised.value.kind, raised.value.id) == ("session", session)


class AsyncForkSearchContract(AsyncSearchBase):
    """In a fork, what it inherited is found, and nothing that others wrote later."""

    async def test_a_fork_finds_what_it_inherited_and_what_it_wrote(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="lighthouse one", m2="lighthouse two", m3="lighthouse three")
        await store.create_session(ADA, fork_of("s", "m2"))
        await find.rest()
        await tell(store, m4="lighthouse four")
        await tell(store, "fork", f1="lighthouse five")
        assert await find("lighthouse", "fork") == ["fork/f1", "s/m1", "s/m2"]
        assert await find("lighthouse", "s") == ["s/m1", "s/m2", "s/m3", "s/m4"]
        assert await find("lighthouse") == ["fork/f1", "s/m1", "s/m2", "s/m3", "s/m4"]

    async def test_a_fork_finds_its_own_branches_and_not_its_sources(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="root", m2="lighthouse two", m3="three")
        await store.append(ADA, "s", [say("x1", "lighthouse aside")], parent="m1")
        await store.create_session(ADA, fork_of("s", "m3"))
        await find.rest()
        await store.append(ADA, "fork", [say("f1", "lighthouse of its own")], parent="m1")
        await store.append(ADA, "s", [say("x2", "lighthouse too")], parent="m2")
        assert await find("lighthouse", "fork") == ["fork/f1", "s/m2"]

    async def test_a_fork_of_a_fork_finds_along_its_whole_path(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="lighthouse", m2="lighthouse")
        await store.create_session(ADA, fork_of("s", "m1", id="a"))
        await tell(store, "a", a1="lighthouse", a2="lighthouse")
        await find.rest()
        await store.create_session(ADA, fork_of("a", "a1", id="b"))
        await tell(store, "b", b1="lighthouse")
        assert await find("lighthouse", "b") == ["a/a1", "b/b1", "s/m1"]

    async def test_an_edit_or_deletion_in_the_source_shows_in_the_fork(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="lighthouse", m2="lighthouse", m3="x")
        await store.create_session(ADA, fork_of("s"))
        await find.rest()
        await store.update_message(ADA, "s", say("m1", "harbour"))
        await store.delete_messages(ADA, "s", ["m2"])
        assert await find("lighthouse OR harbour", "fork") == ["s/m1"]
        assert await find("lighthouse", "fork") == []

    async def test_a_detached_fork_is_found_by_itself(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="lighthouse one", m2="lighthouse two")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="lighthouses"))
        await find.rest()
        await store.create_session(ADA, fork_of("s", detach=True))
        await store.update_message(ADA, "s", say("m1", "harbour"))
        assert await find("lighthouse", "fork") == ["fork/m1", "fork/m2"]
        assert await find("lighthouse") == ["fork/m1", "fork/m2", "s/m2"]
        await store.undo_overlay(ADA, "s", "o1")
        assert await find("lighthouses") == ["fork/<o1>"]

    async def test_a_summary_shared_with_a_fork_stays_found_through_it(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="one", m2="two")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="lighthouse trips"))
        await store.create_session(ADA, fork_of("s"))
        await find.rest()
        assert await find("lighthouse") == ["s/<o1>"]
        assert await find("lighthouse", "fork") == ["fork/<o1>"]
        await store.undo_overlay(ADA, "s", "o1")
        assert await find("lighthouse", "s") == []
        assert await find("lighthouse") == ["fork/<o1>"]
        await store.undo_overlay(ADA, "fork", "o1")
        assert await find("lighthouse") == []

    async def test_a_summary_made_after_the_fork_is_its_makers_alone(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="one", m2="two")
        await store.create_session(ADA, fork_of("s"))
        await find.rest()
        await store.add_overlay(ADA, "fork", cover("m1", "m2", id="o1", summary="lighthouse"))
        assert await find("lighthouse", "s") == []
        assert await find("lighthouse", "fork") == await find("lighthouse") == ["fork/<o1>"]

    async def test_a_long_chain_of_forks_is_searched_whole(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, "f0", m0="lighthouse", x0="lighthouse")
        for n in range(1, 70):
            await store.create_session(ADA, fork_of(f"f{n - 1}", f"m{n - 1}", id=f"f{n}"))
            await tell(store, f"f{n}", **{f"m{n}": "lighthouse", f"x{n}": "lighthouse"})
            if n == 40:
                await find.rest()
        expected = sorted([*(f"f{n}/m{n}" for n in range(70)), "f69/x69"])
        assert await find("lighthouse", "f69") == expected


class AsyncGoneSearchContract(AsyncSearchBase):
    """What is gone is not found, but for what a fork stands on."""

    @pytest.mark.parametrize("way", ["delete", "clear"])
    async def test_what_a_retired_session_wrote_is_not_found(
        self, store: AsyncStore, find: AsyncSearcher, way: str
    ) -> None:
        await tell(store, m1="lighthouse", m2="lighthouse")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="lighthouse"))
        await tell(store, "other", x1="lighthouse")
        await find.rest()
        await _retire(store, "s", way)
        assert await find("lighthouse") == ["other/x1"]
        await tell(store, n1="the lighthouse anew")
        assert await find("lighthouse") == ["other/x1", "s/n1"]
        assert await find("lighthouse", "s") == ["s/n1"]

    @pytest.mark.parametrize("way", ["delete", "clear"])
    async def test_what_a_fork_stands_on_is_told_as_the_oldest_that_stands_on_it(
        self, store: AsyncStore, find: AsyncSearcher, way: str
    ) -> None:
        await tell(store, m1="lighthouse", m2="lighthouse", m3="lighthouse", m4="lighthouse")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="lighthouse"))
        await store.create_session(ADA, fork_of("s", "m2", id="old"))
        await store.create_session(ADA, fork_of("s", "m3", id="young"))
        await find.rest()
        await _retire(store, "s", way)
        everywhere = ["old/<o1>", "old/m1", "old/m2", "young/m3"]
        assert await find("lighthouse") == everywhere
        assert await find("lighthouse", "old") == ["old/<o1>", "old/m1", "old/m2"]
        assert await find("lighthouse", "young") == ["old/m1", "old/m2", "young/<o1>", "young/m3"]
        await store.delete_session(ADA, "old")
        assert await find("lighthouse") == ["young/<o1>", "young/m1", "young/m2", "young/m3"]
        await store.delete_messages(ADA, "young", ["m1"])
        assert await find("lighthouse") == ["young/<o1>", "young/m2", "young/m3"]
        await store.delete_session(ADA, "young")
        assert await find("lighthouse") == []

    async def test_what_lies_beyond_a_forks_point_is_not_found_when_its_home_is_gone(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, **{f"m{n}": "lighthouse" for n in range(1, 300)})
        await store.create_session(ADA, fork_of("s", "m3"))
        await find.rest()
        await store.delete_session(ADA, "s")
        assert await find("lighthouse") == ["fork/m1", "fork/m2", "fork/m3"]
        assert await find("lighthouse", "fork") == ["fork/m1", "fork/m2", "fork/m3"]

    async def test_a_session_under_a_deleted_ones_name_finds_nothing_of_it(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="lighthouse")
        await find.rest()
        await store.delete_session(ADA, "s")
        await tell(store, m1="harbour")
        assert await find("lighthouse OR harbour", "s") == ["s/m1"]
        assert await find("lighthouse") == []


class AsyncOwnerSearchContract(AsyncSearchBase):
    """Owner is part of every search."""

    async def test_rule_13_the_same_words_of_two_owners_are_two_searches(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        owners = [ADA, "bob", "Ada", "%", "x" * 256]
        for owner in owners:
            await tell(store, owner=owner, m1="the lighthouse", m2=f"of {len(owner)}")
            await tell(store, "t", owner=owner, m1="a lighthouse")
            await store.add_overlay(owner, "s", cover("m1", "m2", id="o", summary="lighthouses"))
        await find.rest()
        await tell(store, "new", owner="bob", m9="bob's lighthouse")
        await store.delete_messages(ADA, "s", ["m1"])
        for owner in owners:
            expected = ["s/m1", "t/m1"] if owner != "bob" else ["new/m9", "s/m1", "t/m1"]
            assert await find("lighthouse", owner=owner) == expected[owner == ADA :]
            assert await find("lighthouses", owner=owner) == ["s/<o>"]
            assert await find("lighthouse", "t", owner=owner) == ["t/m1"]

    async def test_rule_13_what_others_say_does_not_move_a_score(self, store: AsyncStore) -> None:
        await tell(store, m1="lighthouse harbour", m2="lighthouse lighthouse ship")
        search = Search(text="lighthouse harbour OR ship")
        await store.finish_deletions()
        before = await store.search(ADA, search)
        await tell(store, owner="bob", **{f"b{n}": "harbour ship ship" for n in range(40)})
        await store.finish_deletions()
        assert await store.search(ADA, search) == before

    async def test_an_erased_owner_is_not_found_and_takes_nothing_from_others(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        for owner in (ADA, "bob"):
            await tell(store, owner=owner, m1="lighthouse", m2="harbour")
        await find.rest()
        await store.erase_owner("bob")
        assert await find("lighthouse", owner="bob") == []
        assert await find("lighthouse") == ["s/m1"]
        await tell(store, owner="bob", m9="lighthouse")
        assert await find("lighthouse", owner="bob") == ["s/m9"]

    async def test_rule_13_a_session_of_another_owner_is_not_searched(
        self, store: AsyncStore
    ) -> None:
        await tell(store, "bobs", owner="bob", m1="lighthouse")
        with pytest.raises(NotFoundError):
            await store.search(ADA, Search(text="lighthouse", session="bobs"))


async def _retire(store: AsyncStore, session: str, way: str) -> None:
    if way == "delete":
        await store.delete_session(ADA, session)
    else:
        await store.clear_session(ADA, session)
