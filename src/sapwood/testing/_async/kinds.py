"""Kinds of sessions: what is no conversation of the user's is seen only by who asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from ...model import NewSession, SessionCount, SessionPatch, SessionQuery, Usage
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of
from .base import AsyncContractBase, grow, record_of
from .listing import listed
from .search_base import AsyncSearchBase, AsyncSearcher, tell


async def begin(store: AsyncStore, **kinds: str) -> None:
    """Create a session of each kind."""
    for id, kind in kinds.items():
        await store.create_session(ADA, NewSession(id=id, kind=kind))


class AsyncKindContract(AsyncContractBase):
    """A session's kind is given once; chats are listed and counted unless others are asked for."""

    async def test_a_session_is_a_chat_unless_it_is_said_to_be_something_else(
        self, store: AsyncStore
    ) -> None:
        made = await store.create_session(ADA, NewSession(id="s"))
        assert (made.kind, await record_of(store)) == ("chat", made)
        made = await store.create_session(ADA, NewSession(id="facts", kind="memory"))
        assert (made.kind, await record_of(store, "facts")) == ("memory", made)
        # A kind is a name like any other.
        await begin(store, odd="é 'x' %")
        assert await listed(store, kind="é 'x' %") == ["odd"]

    @pytest.mark.parametrize("detach", [False, True])
    async def test_a_fork_is_of_its_sources_kind_unless_another_is_given(
        self, store: AsyncStore, detach: bool
    ) -> None:
        await begin(store, s="memory")
        await grow(store, "m1", "m2")
        for id, given, kind in (("a", UNSET, "memory"), ("b", "chat", "chat")):
            for message in (None, "m1"):
                name = f"{id}-{message}"
                new = fork_of("s", message, id=name, detach=detach, kind=given)
                made = await store.create_session(ADA, new)
                assert (made.kind, await record_of(store, name)) == (kind, made)

    async def test_a_kind_never_changes(self, store: AsyncStore) -> None:
        await begin(store, s="memory")
        await grow(store, "m1")
        patch = SessionPatch(title="t", state="ended", closed=True, tags=["x"], merge={"a": 1})
        assert (await store.update_session(ADA, "s", patch)).record.kind == "memory"
        await store.update_session(ADA, "s", SessionPatch(closed=False))
        assert (await store.checkout(ADA, "s", "m1")).kind == "memory"
        assert (await store.clear_session(ADA, "s")).kind == "memory"
        await store.finish_deletions()
        assert (await record_of(store)).kind == "memory"
        await store.delete_session(ADA, "s")
        assert (await store.create_session(ADA, NewSession(id="s"))).kind == "chat"

    @pytest.mark.parametrize("order", ["active", "created"])
    async def test_a_list_shows_chats_unless_another_kind_is_asked_for_or_all(
        self, store: AsyncStore, order: Any
    ) -> None:
        await begin(store, a="chat", b="memory", c="review", d="chat", e="memory")
        assert await listed(store, order=order) == ["d", "a"]
        assert await listed(store, order=order, kind="memory") == ["e", "b"]
        assert await listed(store, order=order, kind="review", limit=1) == ["c"]
        assert await listed(store, order=order, kind="nothing") == []
        assert await listed(store, order=order, kind=None, limit=2) == ["e", "d", "c", "b", "a"]
        await store.update_session(ADA, "b", SessionPatch(state="ended", tags=["x"], title="t"))
        for kind, found in (("memory", ["b"]), (None, ["b"]), ("chat", [])):
            for asked in ({"state": "ended"}, {"tags": ["x"]}, {"title_prefix": "t"}):
                assert await listed(store, order=order, kind=kind, **asked) == found

    async def test_statistics_count_chats_and_all_sessions_by_kind_and_state(
        self, store: AsyncStore
    ) -> None:
        await begin(store, a="chat", b="memory", c="review", d="memory")
        for id in "abc":
            await grow(store, f"{id}1", f"{id}2", session=id)
        await store.update_session(ADA, "d", SessionPatch(state="ended"))
        await store.create_session(ADA, fork_of("b", id="f", kind="review"))
        await store.finish_deletions()
        counted = await store.statistics(ADA)
        assert (counted.sessions, counted.messages) == (1, 2)
        assert counted.counts == [
            SessionCount(kind="chat", state="active", sessions=1),
            SessionCount(kind="memory", state="active", sessions=1),
            SessionCount(kind="memory", state="ended", sessions=1),
            SessionCount(kind="review", state="active", sessions=2),
        ]
        # Of what kind they were nobody knows any more.
        await store.delete_session(ADA, "b")
        await store.finish_deletions()
        assert (await store.statistics(ADA)).messages == 4
        assert (await store.statistics("bob")).counts == []

    async def test_the_usage_of_an_owner_is_that_of_all_kinds(self, store: AsyncStore) -> None:
        await begin(store, a="chat", b="memory")
        for id in "ab":
            await store.add_usage(ADA, id, Usage(id="u", model="m", input_tokens=3))
        [total] = await store.total_owner_usage(ADA)
        assert (total.model, total.calls, total.input_tokens) == ("m", 2, 6)

    async def test_an_owner_is_erased_with_sessions_of_all_kinds(self, store: AsyncStore) -> None:
        await begin(store, a="chat", b="memory")
        await grow(store, "m1", session="b")
        assert ADA in await store.admin.list_owners()
        assert await store.admin.check() == []
        await store.erase_owner(ADA)
        await store.finish_deletions()
        page = await store.list_sessions(ADA, SessionQuery(kind=None))
        assert page.sessions == []
        assert await store.find_session(ADA, "b") is None


class AsyncKindSearchContract(AsyncSearchBase):
    """Search over all sessions finds what chats say, unless another kind is asked for."""

    async def test_search_finds_what_chats_say_unless_asked(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await begin(store, facts="memory", check="review")
        for session in ("chat", "facts", "check"):
            await tell(store, session, **{f"{session}1": "a lighthouse"})
        await find.rest()
        await tell(store, "facts", late="a lighthouse")
        assert await find("lighthouse") == ["chat/chat1"]
        assert await find("lighthouse", kind="memory") == ["facts/facts1", "facts/late"]
        assert await find("lighthouse", kind="nothing") == []
        every = ["chat/chat1", "check/check1", "facts/facts1", "facts/late"]
        assert await find("lighthouse", kind=None) == every
        assert (await find.hits("lighthouse", limit=1)).cursor is None

    async def test_a_session_that_is_named_is_searched_of_whatever_kind(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="a lighthouse")
        await store.create_session(ADA, fork_of("s", id="check", kind="review"))
        await tell(store, "check", r1="a lighthouse")
        await store.add_overlay(ADA, "check", cover("m1", "m1", id="o"))
        await find.rest()
        for kind in ("chat", "review", None):
            assert await find("lighthouse", "check", kind=kind) == ["check/r1", "s/m1"]
        assert await find("lighthouse") == ["s/m1"]
        assert await find("lighthouse", kind="review") == ["check/r1"]

    async def test_what_is_left_of_a_session_is_told_by_the_oldest_of_the_kind(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="a lighthouse", m2="a lighthouse")
        for id, message, kind in (("a", "m1", "review"), ("b", "m2", "chat"), ("c", "m2", "chat")):
            await store.create_session(ADA, fork_of("s", message, id=id, kind=kind))
        await find.rest()
        await store.delete_session(ADA, "s")
        assert await find("lighthouse") == ["b/m1", "b/m2"]
        assert await find("lighthouse", kind="review") == ["a/m1"]
        assert await find("lighthouse", kind=None) == ["a/m1", "b/m2"]

    async def test_a_summary_is_told_by_the_oldest_of_the_kind_that_has_it(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await begin(store, s="memory")
        await tell(store, m1="words", m2="words")
        new = cover("m1", "m1", id="o", summary="of a lighthouse")
        await store.add_overlay(ADA, "s", new)
        for id, kind in (("a", "chat"), ("b", "chat")):
            await store.create_session(ADA, fork_of("s", id=id, kind=kind))
        await find.rest()
        assert await find("lighthouse") == ["a/<o>"]
        assert await find("lighthouse", kind="memory") == ["s/<o>"]
        assert await find("lighthouse", kind="review") == []
        assert await find("lighthouse", kind=None) == ["s/<o>"]
        await store.undo_overlay(ADA, "a", "o")
        assert await find("lighthouse") == ["b/<o>"]
