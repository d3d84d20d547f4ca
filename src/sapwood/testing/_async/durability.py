"""Durability: what was acknowledged is there when the store is opened again."""

from __future__ import annotations

import pytest

from ...errors import MessageConflictError, StaleTipError
from ...model import Read, SessionQuery, Usage
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncReopen
from .base import AsyncContractBase, grow, history_of, shown_in, state_of
from .calls import furnish


class AsyncDurableContract(AsyncContractBase):
    """For stores that declare DURABLE; they override the fixture `reopen`, too."""

    @pytest.fixture
    def reopen(self) -> AsyncReopen:
        """Return a function that closes the store and opens it again on what it had stored."""
        raise NotImplementedError("override the fixture `reopen`")

    async def test_rule_01_everything_is_there_after_reopening(
        self, store: AsyncStore, reopen: AsyncReopen
    ) -> None:
        await furnish(store)
        await store.append(ADA, "s", [say("x1"), say("x2")], parent="m1")
        await store.update_message(ADA, "s", say("m2", "changed"))
        await store.delete_messages(ADA, "s", ["m3"])
        await store.create_session(ADA, fork_of("s", "x1"))
        await store.checkout(ADA, "s", "m1")
        before = [await state_of(store), await state_of(store, "fork")]
        listed = await store.list_sessions(ADA, SessionQuery())
        feed = await store.changes(ADA)
        store = await reopen()
        assert [await state_of(store), await state_of(store, "fork")] == before
        assert await store.list_sessions(ADA, SessionQuery()) == listed
        assert (await store.changes(ADA)).changes == feed.changes
        assert (await store.changes(ADA, after=feed.cursor)).changes == []

    async def test_rule_01_appends_go_on_where_they_were(
        self, store: AsyncStore, reopen: AsyncReopen
    ) -> None:
        await grow(store, "m1", "m2")
        await store.checkout(ADA, "s", "m1")
        places = {m.position for m in await store.find_messages(ADA, "s", ["m1", "m2"]) if m}
        for n in range(3):
            store = await reopen()
            [message] = await grow(store, f"x{n}")
            assert message.position not in places
            places.add(message.position)
        assert await shown_in(store) == ["m1", "x0", "x1", "x2"]

    async def test_rule_02_retries_are_known_after_reopening(
        self, store: AsyncStore, reopen: AsyncReopen
    ) -> None:
        await grow(store, "m1", "m2")
        await store.delete_messages(ADA, "s", ["m2"])
        store = await reopen()
        assert (await store.append(ADA, "s", [say("m1")])).written == 0
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m2")])
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("m3")], expected_tip="m1")

    async def test_rule_09_snapshots_and_versions_hold_over_reopening(
        self, store: AsyncStore, reopen: AsyncReopen
    ) -> None:
        await grow(store, *"123")
        snapshot = (await history_of(store)).snapshot
        put = await store.put_document(ADA, "k", b"")
        await store.delete_document(ADA, "k")
        store = await reopen()
        assert (await store.put_document(ADA, "k", b"")).version > put.version
        await store.add_overlay(ADA, "s", cover("1", "2", id="o", snapshot=snapshot))
        store = await reopen()
        assert await shown_in(store) == ["<o>", "3"]

    async def test_rule_01_usage_keeps_the_order_in_which_it_was_recorded(
        self, store: AsyncStore, reopen: AsyncReopen
    ) -> None:
        await grow(store)
        messages = ["m2", None, "m3", "m1"]
        for n, message in enumerate(messages):
            await store.add_usage(ADA, "s", Usage(id=f"u{9 - n}", message=message))
            store = await reopen()
        totals = await store.total_usage(ADA, "s", by="message")
        assert [total.message for total in totals] == messages

    async def test_rule_01_what_was_deleted_stays_deleted(
        self, store: AsyncStore, reopen: AsyncReopen
    ) -> None:
        await grow(store, "m1", "m2")
        await store.add_usage(ADA, "s", Usage(id="u"))
        await store.create_session(ADA, fork_of("s", "m1"))
        await store.delete_session(ADA, "s")
        store = await reopen()
        assert await store.find_session(ADA, "s") is None
        await store.finish_deletions()
        store = await reopen()
        history = await store.read(ADA, "fork", Read())
        assert [(m.id, m.home) for m in history.messages_only] == [("m1", None)]
        assert (await store.statistics(ADA)).sessions == 1
        assert await store.admin.check() == []
