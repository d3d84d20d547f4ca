"""Sums of tokens after others changed what a session shares: a write through it mends its own."""

from __future__ import annotations

import pytest

from ...model import Summary
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncCall
from .base import AsyncContractBase, grow, history_of, record_of

CHANGES: dict[str, AsyncCall] = {
    "edit": lambda s, o, n: s.update_message(o, n, say("m1", "less", tokens=2)),
    "delete": lambda s, o, n: s.delete_messages(o, n, ["m1"]),
    "edit of the fork point": lambda s, o, n: s.update_message(o, n, say("m2", "more", tokens=90)),
    "delete of all": lambda s, o, n: s.delete_messages(o, n, ["m1", "m2", "m3"]),
}
WRITES: dict[str, AsyncCall] = {
    "append": lambda s, o, n: s.append(o, n, [say("x", tokens=3)]),
    "append with our id": lambda s, o, n: s.append(o, n, [say(None, "x", tokens=3)]),
    "append of a batch": lambda s, o, n: s.append(o, n, [say("x", tokens=3), say("y", tokens=4)]),
    "append after a message": lambda s, o, n: s.append(o, n, [say("x", tokens=3)], parent="m2"),
    "append expecting": lambda s, o, n: s.append(o, n, [say("x", tokens=3)], expected_tip="f2"),
    "update": lambda s, o, n: s.update_message(o, n, say("f1", "new", tokens=8)),
    "update of the tip": lambda s, o, n: s.update_message(o, n, say("f2", "new", tokens=8)),
    "delete": lambda s, o, n: s.delete_messages(o, n, ["f1"]),
    "delete of the tip": lambda s, o, n: s.delete_messages(o, n, ["f2"]),
    "checkout": lambda s, o, n: s.checkout(o, n, "m2"),
    "checkout of the tip": lambda s, o, n: s.checkout(o, n, "f2"),
    "add_overlay": lambda s, o, n: s.add_overlay(o, n, cover("f1", "f2")),
}

changed_by = pytest.mark.parametrize("change", CHANGES)


async def _is_right(store: AsyncStore, session: str) -> bool:
    """Whether a session's record has the sum of what it shows."""
    history = await history_of(store, session)
    total = 0
    for entry in history.entries:
        pinned = entry.pinned if isinstance(entry, Summary) else []
        own = entry.overlay if isinstance(entry, Summary) else entry
        total += own.tokens + sum(pin.tokens for pin in pinned)
    record = await record_of(store, session)
    return history.context_tokens == total == record.context_tokens


class AsyncSumContract(AsyncContractBase):
    """Whoever is written through is right at once; others may wait for `finish_deletions`."""

    async def _share(self, store: AsyncStore) -> None:
        """Make a home, and a fork that goes on by itself."""
        await grow(store, "m1", "m2", "m3", tokens=10)
        await store.create_session(ADA, fork_of("s", "m2"))
        await grow(store, "f1", "f2", session="fork", tokens=5)

    @pytest.mark.parametrize("write", WRITES)
    async def test_rule_14_a_write_leaves_its_own_sum_right(
        self, store: AsyncStore, write: str
    ) -> None:
        await self._share(store)
        await store.update_message(ADA, "s", say("m1", "less", tokens=2))
        done = await WRITES[write](store, ADA, "fork")
        assert await _is_right(store, "fork")
        told = getattr(done, "context_tokens", None)
        assert told in (None, (await record_of(store, "fork")).context_tokens)
        await grow(store, "z", session="fork")
        assert await _is_right(store, "fork")

    @changed_by
    async def test_rule_14_a_write_with_an_overlay_and_a_pin_leaves_its_own_sum_right(
        self, store: AsyncStore, change: str
    ) -> None:
        await self._share(store)
        await store.put_document(ADA, "pins", b'["m1"]', session="fork")
        await store.add_overlay(ADA, "fork", cover("m1", "m2"))
        await CHANGES[change](store, ADA, "s")
        await grow(store, "x", session="fork")
        assert await _is_right(store, "fork")

    @pytest.mark.parametrize("message", [None, "m2", "f1"])
    @pytest.mark.parametrize("detach", [False, True])
    async def test_rule_14_a_new_fork_begins_with_a_right_sum(
        self, store: AsyncStore, message: str | None, detach: bool
    ) -> None:
        await self._share(store)
        await store.update_message(ADA, "s", say("m1", "less", tokens=2))
        made = await store.create_session(ADA, fork_of("fork", message, id="new", detach=detach))
        assert made == await record_of(store, "new")
        assert await _is_right(store, "new")
        await grow(store, "n1", session="new")
        assert await _is_right(store, "new")

    @changed_by
    async def test_rule_14_a_fork_that_only_stands_there_is_right_after_its_first_append(
        self, store: AsyncStore, change: str
    ) -> None:
        await grow(store, "m1", "m2", "m3", tokens=10)
        for message in ("m1", "m2", "m3"):
            await store.create_session(ADA, fork_of("s", message, id=message))
        await CHANGES[change](store, ADA, "s")
        for session in ("m1", "m2", "m3"):
            await grow(store, "x", session=session)
            assert await _is_right(store, session)
        await store.finish_deletions()
        for session in ("s", "m1", "m2", "m3"):
            assert await _is_right(store, session)

    async def test_rule_14_a_deletion_through_one_fork_is_in_the_sum_of_another_after_its_write(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", tokens=10)
        for name in ("a", "b"):
            await store.create_session(ADA, fork_of("s", id=name))
            await grow(store, name, session=name)
        await store.delete_session(ADA, "s")
        await store.delete_messages(ADA, "a", ["m1"])
        await grow(store, "x", session="b")
        assert await _is_right(store, "a")
        assert await _is_right(store, "b")
