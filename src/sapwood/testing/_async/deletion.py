"""Deleting and clearing sessions: what only they had goes, what others stand on stays."""

from __future__ import annotations

from ...model import ROOT, NewSession, SessionPatch, Usage
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import AsyncContractBase, grow, history_of, message_in, record_of, shown_in


class AsyncSessionDeletionContract(AsyncContractBase):
    """A deleted session is gone at once."""

    async def test_a_deleted_session_is_gone(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.delete_session(ADA, "s")
        for _ in range(2):
            assert await store.find_session(ADA, "s") is None
            await store.finish_deletions()

    async def test_one_created_again_begins_empty(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"))
        await store.put_document(ADA, "k", b"v", session="s")
        await store.add_usage(ADA, "s", Usage(id="u"))
        await store.update_session(ADA, "s", SessionPatch(title="t", tags=["x"]))
        await store.delete_session(ADA, "s")
        record = await store.create_session(ADA, NewSession(id="s"))
        assert (record.tip, record.messages) == (ROOT, 0)
        assert (record.title, record.tags, record.context_tokens) == (None, [], 0)
        assert await shown_in(store) == []
        assert await store.find_messages(ADA, "s", ["1"]) == [None]
        assert await store.list_leaves(ADA, "s") == []
        assert await store.list_overlays(ADA, "s") == []
        assert await store.list_documents(ADA, session="s") == []
        assert await store.total_usage(ADA, "s") == []
        await store.append(ADA, "s", [say("1", "other")])
        await store.finish_deletions()
        assert (await message_in(store, "1")).text == "other"

    async def test_a_fork_keeps_the_path_to_its_fork_point(self, store: AsyncStore) -> None:
        await grow(store, *"1234", tokens=5)
        await store.append(ADA, "s", [say("x")], parent="2")
        await store.create_session(ADA, fork_of("s", "3"))
        await grow(store, "f1", session="fork", tokens=5)
        before = await history_of(store, "fork")
        await store.delete_session(ADA, "s")
        for _ in range(2):
            after = await history_of(store, "fork")
            assert [(m.id, m.position, m.text) for m in after.messages_only] == [
                (m.id, m.position, m.text) for m in before.messages_only
            ]
            assert [m.home for m in after.messages_only] == [None, None, None, "fork"]
            assert (await record_of(store, "fork")).context_tokens == 20
            await store.finish_deletions()
        assert (await store.append(ADA, "fork", [say("2")])).written == 0

    async def test_a_fork_keeps_its_fork_point_while_its_tip_is_elsewhere(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"1234")
        await store.create_session(ADA, fork_of("s", "3"))
        await store.checkout(ADA, "fork", "1")
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert [leaf.id for leaf in await store.list_leaves(ADA, "fork")] == ["3"]
        assert await shown_in(store, "fork", leaf="3") == list("123")
        await store.checkout(ADA, "fork", "3")
        assert await shown_in(store, "fork") == list("123")

    async def test_the_home_stays_gone_when_the_name_is_used_again(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s"))
        await store.delete_session(ADA, "s")
        await grow(store, "m1")
        assert (await message_in(store, "m1", "fork")).home is None
        assert (await message_in(store, "m1")).home == "s"
        await store.delete_messages(ADA, "fork", ["m1"])
        assert await shown_in(store) == ["m1"]
        assert await shown_in(store, "fork") == ["m2"]

    async def test_a_chain_of_forks_survives_the_middle_and_the_start(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1", id="a"))
        await grow(store, "a1", "a2", session="a")
        await store.create_session(ADA, fork_of("a", "a1", id="b"))
        await grow(store, "b1", session="b")
        for gone in ("a", "s"):
            await store.delete_session(ADA, gone)
            await store.finish_deletions()
            assert await shown_in(store, "b") == ["m1", "a1", "b1"]
        await store.append(ADA, "b", [say("b2")], parent="m1")
        assert await shown_in(store, "b") == ["m1", "b2"]
        assert {leaf.id for leaf in await store.list_leaves(ADA, "b")} == {"b1", "b2"}
        await store.checkout(ADA, "b", "a1")
        await grow(store, "b3", session="b")
        assert await shown_in(store, "b") == ["m1", "a1", "b3"]

    async def test_a_path_may_pass_by_the_fork_point_of_a_session_that_is_gone(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.create_session(ADA, fork_of("s", id="a"))
        await grow(store, "a1", session="a")
        await store.create_session(ADA, fork_of("a", id="b"))
        await store.append(ADA, "b", [say("b1")], parent="m1")
        await store.create_session(ADA, fork_of("b", id="c"))
        for gone in ("s", "b", "a"):
            await store.delete_session(ADA, gone)
            await store.finish_deletions()
            assert await shown_in(store, "c") == ["m1", "b1"]
            assert (await store.append(ADA, "c", [say("m1")])).written == 0
        assert await store.find_messages(ADA, "c", ["a1"]) == [None]

    async def test_a_fork_of_a_fork_may_stand_above_the_first_fork_point(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"1234")
        await store.create_session(ADA, fork_of("s", "3", id="a"))
        await store.create_session(ADA, fork_of("a", "2", id="b"))
        await store.delete_session(ADA, "s")
        await store.delete_session(ADA, "a")
        await store.finish_deletions()
        assert await shown_in(store, "b") == ["1", "2"]
        await grow(store, "3", "4", session="b")
        assert await shown_in(store, "b") == list("1234")
        assert (await message_in(store, "3", "b")).home == "b"

    async def test_a_message_count_of_others_is_not_touched(self, store: AsyncStore) -> None:
        await grow(store, *"12")
        await store.create_session(ADA, fork_of("s"))
        await grow(store, "f1", session="fork")
        await store.delete_session(ADA, "fork")
        await store.finish_deletions()
        assert (await record_of(store)).messages == 2
        assert await shown_in(store) == list("12")

    async def test_erasing_an_owner_leaves_nothing(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.create_session(ADA, fork_of("s"))
        await store.put_document(ADA, "k", b"")
        await grow(store, "b1", owner="bob")
        for _ in range(2):
            await store.erase_owner(ADA)
            await store.finish_deletions()
        assert await store.find_session(ADA, "s") is None
        assert await store.find_session(ADA, "fork") is None
        assert await store.list_documents(ADA) == []
        assert (await store.statistics(ADA)).sessions == 0
        assert await store.admin.list_owners() == ["bob"]
        assert await shown_in(store, owner="bob") == ["b1"]
        await grow(store, "m1")
        assert await shown_in(store) == ["m1"]


class AsyncClearContract(AsyncContractBase):
    """A cleared session begins again, and keeps what it is."""

    async def test_clear_keeps_the_record_and_drops_the_conversation(
        self, store: AsyncStore
    ) -> None:
        new = NewSession(id="s", title="t", tags=["x"], attributes={"a": 1}, budget=9, state="idle")
        await store.create_session(ADA, new)
        await grow(store, *"123")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"))
        await store.put_document(ADA, "prompt", b"p", session="s")
        await store.put_document(ADA, "pins", b"[]", session="s")
        await store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
        record = await store.clear_session(ADA, "s")
        assert (record.title, record.tags, record.attributes) == ("t", ["x"], {"a": 1})
        assert (record.budget, record.state, record.version) == (9, "idle", 2)
        assert (record.tip, record.tip_position, record.messages) == (ROOT, None, 0)
        assert (record.context_tokens, record.forked_at) == (0, None)
        assert await record_of(store) == record
        assert await shown_in(store) == []
        assert await store.list_leaves(ADA, "s") == []
        assert await store.list_overlays(ADA, "s") == []
        assert [d.key for d in await store.list_documents(ADA, session="s")] == ["prompt"]

    async def test_rule_02_ids_from_before_the_clear_are_free(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.delete_messages(ADA, "s", ["m2"])
        await store.clear_session(ADA, "s")
        done = await store.append(ADA, "s", [say("m1", "other"), say("m2", "other")])
        assert (done.written, done.messages[0].depth) == (2, 1)
        await store.finish_deletions()
        assert [m.text for m in (await history_of(store)).messages_only] == ["other", "other"]

    async def test_forks_of_a_cleared_session_keep_their_path(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.create_session(ADA, fork_of("s", "m2"))
        await store.clear_session(ADA, "s")
        await grow(store, "m1", "new")
        await store.finish_deletions()
        assert await shown_in(store, "fork") == ["m1", "m2"]
        assert await shown_in(store) == ["m1", "new"]
        assert (await message_in(store, "m1", "fork")).home is None
        assert (await store.delete_messages(ADA, "fork", ["m1"])).ids == ["m1"]
        assert await shown_in(store) == ["m1", "new"]

    async def test_a_cleared_fork_lets_go_of_its_fork_point(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s"))
        await grow(store, "f1", session="fork")
        record = await store.clear_session(ADA, "fork")
        assert (record.forked_at, record.tip) == (None, ROOT)
        assert ids_of(await store.find_messages(ADA, "fork", ["m1", "f1"])) == [None, None]
        await store.append(ADA, "fork", [say("m1", "other")])
        await store.finish_deletions()
        assert await shown_in(store, "fork") == ["m1"]
        assert [m.text for m in (await history_of(store)).messages_only] == ["m1", "m2"]
