"""Messages after they were appended: found, updated, deleted."""

from __future__ import annotations

import pytest

from ...errors import ConflictError, NotFoundError
from ...model import ROOT, NewMessage, ReasoningPart
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import AsyncContractBase, grow, history_of, message_in, record_of, shown_in, state_of


class AsyncFindContract(AsyncContractBase):
    """Messages are found by id, among those that the session sees."""

    async def test_messages_come_in_the_order_asked(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        found = await store.find_messages(ADA, "s", ["m3", "nothing", "m1", "m3"])
        assert ids_of(found) == ["m3", None, "m1", "m3"]
        assert await store.find_messages(ADA, "s", []) == []

    async def test_messages_of_other_branches_are_found(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.append(ADA, "s", [say("m3")], parent=ROOT)
        assert ids_of(await store.find_messages(ADA, "s", ["m1", "m2", "m3"])) == [
            "m1",
            "m2",
            "m3",
        ]

    async def test_messages_of_other_sessions_are_not(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await grow(store, "x1", session="other")
        assert await store.find_messages(ADA, "s", ["x1"]) == [None]


class AsyncUpdateContract(AsyncContractBase):
    """An update replaces what a message says, and nothing else."""

    async def test_role_parts_and_metadata_are_replaced(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        [old, _] = await grow(store, "m1", "m2", tokens=5)
        clock.advance(2)
        new = NewMessage(
            id="m1", role="tool", parts=[ReasoningPart(text="why")], metadata={"k": 1}, tokens=9
        )
        updated = (await store.update_message(ADA, "s", new)).message
        assert (updated.role, updated.reasoning, updated.metadata) == ("tool", "why", {"k": 1})
        assert (updated.version, updated.tokens) == (old.version + 1, 9)
        assert (updated.position, updated.created_us) == (old.position, old.created_us)
        assert (updated.home, updated.id) == ("s", "m1")
        assert await message_in(store, "m1") == updated
        assert (await history_of(store)).messages_only[0] == updated

    async def test_the_sums_follow_an_update(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3", tokens=10)
        for id in ("m3", "m1", "m2", "m1"):
            await store.update_message(ADA, "s", say(id, "new", tokens=4))
        assert (await record_of(store)).context_tokens == 12
        assert (await history_of(store)).context_tokens == 12
        assert (await history_of(store, leaf="m2")).context_tokens == 8
        await store.append(ADA, "s", [say("m4", tokens=1)], parent="m2")
        assert (await record_of(store)).context_tokens == 9

    async def test_a_message_of_another_branch_can_be_updated(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", tokens=5)
        await store.append(ADA, "s", [say("m3", tokens=5)], parent="m1")
        await store.update_message(ADA, "s", say("m2", "new", tokens=50))
        assert (await record_of(store)).context_tokens == 10
        assert (await store.checkout(ADA, "s", "m2")).context_tokens == 55

    async def test_rule_07_an_unknown_or_deleted_message_is_an_error(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await grow(store, "x1", session="other")
        await store.delete_messages(ADA, "s", ["m1"])
        for id in ("m1", "x1", "nothing"):
            with pytest.raises(NotFoundError) as raised:
                await store.update_message(ADA, "s", say(id, "new"))
            assert (raised.value.kind, raised.value.id) == ("message", id)

    async def test_an_inherited_message_is_a_conflict_also_when_its_home_is_gone(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.create_session(ADA, fork_of("s"))
        for _ in range(2):
            with pytest.raises(ConflictError):
                await store.update_message(ADA, "fork", say("m1", "new"))
            if await store.find_session(ADA, "s") is not None:
                await store.delete_session(ADA, "s")
        assert (await message_in(store, "m1", "fork")).text == "m1"


class AsyncDeleteContract(AsyncContractBase):
    """Deleting erases what a message says, and leaves its place."""

    async def test_a_deleted_message_is_not_shown_found_or_counted(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3", tokens=5)
        deleted = await store.delete_messages(ADA, "s", ["m2"])
        assert (deleted.ids, deleted.quoting_overlays) == (["m2"], [])
        assert await shown_in(store) == ["m1", "m3"]
        assert await store.find_messages(ADA, "s", ["m2"]) == [None]
        record = await record_of(store)
        assert (record.messages, record.context_tokens) == (2, 10)
        history = await history_of(store)
        assert ([m.depth for m in history.messages_only], history.context_tokens) == ([1, 3], 10)

    async def test_deleting_again_does_nothing(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        first = await store.delete_messages(ADA, "s", ["m3", "m1", "m3"])
        assert first.ids == ["m3", "m1"]
        again = await store.delete_messages(ADA, "s", ["m1", "m2", "m3"])
        assert again.ids == ["m2"]
        assert (await store.delete_messages(ADA, "s", ["m1"])).ids == []
        record = await record_of(store)
        assert (record.messages, record.context_tokens) == (0, 0)

    async def test_deleting_again_through_a_fork_does_nothing_either(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s"))
        await store.delete_messages(ADA, "s", ["m1"])
        assert (await store.delete_messages(ADA, "fork", ["m1"])).ids == []
        with pytest.raises(ConflictError):
            await store.delete_messages(ADA, "fork", ["m1", "m2"])

    async def test_all_or_none_are_deleted(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        before = await state_of(store)
        with pytest.raises(NotFoundError) as raised:
            await store.delete_messages(ADA, "s", ["m1", "nothing"])
        assert (raised.value.kind, raised.value.id) == ("message", "nothing")
        assert await state_of(store) == before

    async def test_a_deleted_place_can_still_be_stood_on(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.delete_messages(ADA, "s", ["m1", "m3"])
        assert (await record_of(store)).tip == "m3"
        assert (await store.checkout(ADA, "s", "m1")).tip == "m1"
        assert await shown_in(store, leaf="m3") == ["m2"]
        assert ids_of(await store.list_children(ADA, "s", "m1")) == ["m2"]
        await store.append(ADA, "s", [say("m4")], parent="m1")
        assert await shown_in(store) == ["m4"]
        assert (await store.create_session(ADA, fork_of("s", "m3"))).tip == "m3"
        assert await shown_in(store, "fork") == ["m2"]

    async def test_the_answer_lists_the_overlays_that_may_quote_it(self, store: AsyncStore) -> None:
        await grow(store, *[f"m{n}" for n in range(1, 8)])
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1"))
        await store.add_overlay(ADA, "s", cover("m4", "m5", id="o2"))
        await store.create_session(ADA, fork_of("s"))
        await store.add_overlay(ADA, "fork", cover("m3", "m6", id="o3"))
        await store.undo_overlay(ADA, "s", "o2")
        deleted = await store.delete_messages(ADA, "s", ["m5", "m1"])
        assert deleted.quoting_overlays == ["o1", "o2", "o3"]
        await store.undo_overlay(ADA, "fork", "o3")
        assert (await store.delete_messages(ADA, "s", ["m6"])).quoting_overlays == []
        assert await shown_in(store) == ["<o1>", "m3", "m4", "m7"]

    async def test_a_message_whose_home_is_gone_is_deleted_through_any_that_sees_it(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", tokens=5)
        for name in ("a", "b"):
            await store.create_session(ADA, fork_of("s", id=name))
        with pytest.raises(ConflictError):
            await store.delete_messages(ADA, "a", ["m1"])
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert (await store.delete_messages(ADA, "a", ["m1"])).ids == ["m1"]
        assert await shown_in(store, "b") == ["m2"]
        assert (await record_of(store, "a")).context_tokens == 5
        await store.finish_deletions()
        assert (await record_of(store, "b")).context_tokens == 5

    async def test_a_deleted_end_of_an_overlay_stays_its_end(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3", "m4")
        await store.add_overlay(ADA, "s", cover("m2", "m3", id="o1"))
        await store.delete_messages(ADA, "s", ["m2", "m3"])
        assert await shown_in(store) == ["m1", "<o1>", "m4"]
        await store.undo_overlay(ADA, "s", "o1")
        assert await shown_in(store) == ["m1", "m4"]
