"""Sharing: two stores on one place see and keep what the other does."""

from __future__ import annotations

from functools import partial

import pytest

from ...errors import MessageConflictError, NotFoundError, StaleTipError, StaleVersionError
from ...model import ROOT, SessionPatch
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncReopen, AsyncTwin
from .base import AsyncContractBase, grow, record_of, shown_in, state_of
from .serial import run_calls_of_all_kinds


class AsyncSharedContract(AsyncContractBase):
    """For stores that declare SHARED; they override the fixture `another`, too."""

    @pytest.fixture
    def another(self) -> AsyncReopen:
        """Return a function that opens a second store on the same place, beside the first."""
        raise NotImplementedError("override the fixture `another`")

    async def test_rule_06_appends_through_two_stores_all_land_once(
        self, store: AsyncStore, another: AsyncReopen
    ) -> None:
        stores = [store, await another()]
        await grow(store)

        async def write(writer: int) -> list[str]:
            ids = [f"w{writer}-{n}" for n in range(6)]
            for id in ids:
                await stores[writer % 2].append(ADA, "s", [say(id, tokens=1)])
            return ids

        written = await AsyncTwin.together([partial(write, writer) for writer in range(6)])
        shown = await shown_in(stores[1])
        assert shown == await shown_in(store)
        assert sorted(shown) == sorted(id for own in written for id in own)
        assert all([id for id in shown if id in own] == own for own in written)
        assert (await record_of(store)).context_tokens == len(shown)

    async def test_rule_06_some_serial_order_explains_calls_through_two_stores(
        self, store: AsyncStore, another: AsyncReopen
    ) -> None:
        stores = [store, await another()]
        for run in range(4):
            await run_calls_of_all_kinds(stores, f"{ADA}-{run}", run)

    async def test_rule_02_a_batch_that_both_send_is_stored_once(
        self, store: AsyncStore, another: AsyncReopen
    ) -> None:
        stores = [store, await another()]
        await grow(store, "m1")
        batch = [say(f"x{n}") for n in range(3)]

        async def write(one: AsyncStore) -> int:
            return (await one.append(ADA, "s", batch)).written

        assert sorted(await AsyncTwin.together([partial(write, it) for it in stores])) == [0, 3]
        assert await shown_in(stores[1]) == ["m1", "x0", "x1", "x2"]
        with pytest.raises(MessageConflictError):
            await stores[1].append(ADA, "s", [say("m1", "something else")])

    async def test_what_one_does_the_other_sees_at_once(
        self, store: AsyncStore, another: AsyncReopen
    ) -> None:
        other = await another()
        await grow(store, "m1", "m2", "m3")
        assert await state_of(other) == await state_of(store)
        await other.append(ADA, "s", [say("x1")], parent="m1")
        assert await shown_in(store) == ["m1", "x1"]
        await store.checkout(ADA, "s", "m3")
        await other.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
        assert await shown_in(store) == ["<o>", "m3"]
        await store.undo_overlay(ADA, "s", "o")
        await store.update_message(ADA, "s", say("m3", "changed", tokens=7))
        await other.delete_messages(ADA, "s", ["m2"])
        await store.put_document(ADA, "k", b"v", session="s")
        await other.create_session(ADA, fork_of("s", "m3", id="f"))
        for session in ("s", "f"):
            assert await state_of(other, session) == await state_of(store, session)

    async def test_what_one_took_away_is_gone_for_the_other(
        self, store: AsyncStore, another: AsyncReopen
    ) -> None:
        other = await another()
        await grow(store, "m1", "m2")
        version = (await record_of(other)).version
        await store.update_session(ADA, "s", SessionPatch(title="t"))
        with pytest.raises(StaleVersionError):
            await other.update_session(ADA, "s", SessionPatch(title="x"), expected_version=version)
        await store.clear_session(ADA, "s")
        with pytest.raises(StaleTipError):
            await other.append(ADA, "s", [say("m3")], expected_tip="m2")
        assert (await record_of(other)).tip == ROOT
        [again] = (await other.append(ADA, "s", [say("m1")])).messages
        assert (again.depth, await shown_in(store)) == (1, ["m1"])
        await store.delete_session(ADA, "s")
        with pytest.raises(NotFoundError):
            await other.append(ADA, "s", [say("m4")])
        assert await other.find_session(ADA, "s") is None
