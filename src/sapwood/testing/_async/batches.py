"""Appending batches: all or none, and repeats of their beginnings."""

from __future__ import annotations

import pytest

from ...errors import MessageConflictError, NotFoundError, StaleTipError
from ...model import ROOT, NewMessage
from ...store import AsyncStore
from ..makers import ADA, fork_of, ids_of, say
from .base import AsyncContractBase, grow, record_of, shown_in, state_of


def batch(*ids: str) -> list[NewMessage]:
    """Write a batch of messages that say their own ids."""
    return [say(id, tokens=1) for id in ids]


class AsyncBatchContract(AsyncContractBase):
    """A batch lands whole, and what is known of it must be its beginning."""

    async def test_a_batch_lands_in_order(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        done = await store.append(ADA, "s", batch("a", "b", "c"))
        assert ([m.depth for m in done.messages], done.written, done.tip) == ([2, 3, 4], 3, "c")
        assert await shown_in(store) == ["m1", "a", "b", "c"]

    async def test_a_batch_under_a_parent_is_one_branch(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.append(ADA, "s", batch("a", "b"), parent="m1")
        assert await shown_in(store) == ["m1", "a", "b"]

    async def test_a_refused_batch_writes_nothing(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        before = await state_of(store)
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("a"), say("m1", "other")])
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", batch("a", "b"), expected_tip=ROOT)
        with pytest.raises(NotFoundError):
            await store.append(ADA, "s", batch("a", "b"), parent="nothing")
        assert await state_of(store) == before

    async def test_rule_02_an_id_given_twice_is_a_conflict(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        for ids in (["a", "a"], ["a", "b", "a"], ["m1", "m1"]):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", batch(*ids))
        assert await shown_in(store) == ["m1"]

    async def test_rule_02_a_repeated_batch_writes_nothing(self, store: AsyncStore) -> None:
        await grow(store)
        first = await store.append(ADA, "s", batch("a", "b", "c"))
        await grow(store, "m1")
        before = await state_of(store)
        again = await store.append(ADA, "s", batch("a", "b", "c"))
        assert (again.messages, again.written, again.tip) == (first.messages, 0, "m1")
        assert await state_of(store) == before

    async def test_rule_02_new_messages_after_a_known_prefix_go_to_the_tip(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a", "b", "m1")
        done = await store.append(ADA, "s", batch("a", "b", "c", "d"))
        assert (ids_of(done.messages), done.written, done.tip) == (["a", "b", "c", "d"], 2, "d")
        assert await shown_in(store) == ["a", "b", "m1", "c", "d"]

    async def test_rule_02_with_a_parent_they_follow_the_prefix(self, store: AsyncStore) -> None:
        await grow(store, "m0", "a", "b", "m1")
        done = await store.append(ADA, "s", batch("a", "b", "c"), parent="m0")
        assert (done.written, done.tip, done.messages[2].depth) == (1, "c", 4)
        assert await shown_in(store) == ["m0", "a", "b", "c"]

    async def test_rule_02_with_a_parent_the_prefix_must_be_a_chain(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m0", "a", "x", "b")
        before = await state_of(store)
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", batch("a", "b", "c"), parent="m0")
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", batch("a", "c"), parent=ROOT)
        assert await state_of(store) == before

    async def test_rule_02_with_an_expected_tip_the_prefix_must_end_at_the_tip(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m0", "a", "b")
        done = await store.append(ADA, "s", batch("a", "b", "c"), expected_tip="m0")
        assert (done.written, done.tip) == (1, "c")
        await grow(store, "m1")
        for expected in ("m0", "m1", "c"):
            with pytest.raises(StaleTipError):
                await store.append(ADA, "s", batch("a", "b", "c", "d"), expected_tip=expected)
        whole = await store.append(ADA, "s", batch("a", "b", "c"), expected_tip="m0")
        assert (whole.written, whole.tip) == (0, "m1")

    async def test_rule_02_known_messages_that_are_no_prefix_are_a_conflict(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a", "b")
        before = await state_of(store)
        for ids in (["x", "a"], ["a", "x", "b"], ["x", "y", "b"]):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", batch(*ids))
        assert await state_of(store) == before

    async def test_rule_02_a_changed_or_deleted_message_in_the_prefix_is_a_conflict(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a", "b")
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("a"), say("b", "other"), say("c")])
        await store.delete_messages(ADA, "s", ["a"])
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", batch("a", "b", "c"))
        assert await shown_in(store) == ["b"]

    async def test_rule_02_the_prefix_may_be_any_known_messages_without_a_parent(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a", "b")
        done = await store.append(ADA, "s", batch("b", "a", "c"))
        assert (ids_of(done.messages), done.written) == (["b", "a", "c"], 1)
        assert await shown_in(store) == ["a", "b", "c"]

    async def test_rule_02_a_prefix_may_be_inherited(self, store: AsyncStore) -> None:
        await grow(store, "a", "b", "m1")
        await store.create_session(ADA, fork_of("s", "b"))
        done = await store.append(ADA, "fork", batch("a", "b", "c"), expected_tip=ROOT)
        assert (done.written, done.tip) == (1, "c")
        follow = await store.append(ADA, "fork", batch("a", "d"), parent=ROOT)
        assert (follow.written, follow.messages[1].depth) == (1, 2)
        assert await shown_in(store, "fork") == ["a", "d"]
        assert (await record_of(store, "fork")).messages == 2

    async def test_a_large_batch_lands_whole(self, store: AsyncStore) -> None:
        await grow(store)
        ids = [f"m{n:04}" for n in range(1000)]
        done = await store.append(ADA, "s", batch(*ids))
        assert done.written == 1000
        assert await shown_in(store) == ids
        assert (await record_of(store)).context_tokens == 1000
