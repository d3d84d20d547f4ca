"""Appending one message: where it goes, and what a repeat means."""

from __future__ import annotations

import pytest

from ...errors import MessageConflictError, NotFoundError, StaleTipError
from ...model import ROOT, NewMessage, NewSession, Read, SessionPatch, TextPart, ToolCallPart
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, fork_of, say
from .base import AsyncContractBase, grow, message_in, record_of, shown_in, state_of


class AsyncAppendContract(AsyncContractBase):
    """An append follows its parent, and is idempotent by message id."""

    async def test_an_append_gives_the_stored_message(self, store: AsyncStore) -> None:
        await grow(store)
        done = await store.append(ADA, "s", [say("m1", "hello", tokens=7)])
        [message] = done.messages
        assert (done.written, done.tip) == (1, "m1")
        assert (message.id, message.role, message.text) == ("m1", "user", "hello")
        assert (message.depth, message.home, message.tokens) == (1, "s", 7)
        assert await message_in(store, "m1") == message
        record = await record_of(store)
        assert (record.tip, record.tip_position) == ("m1", message.position)
        assert (record.messages, record.context_tokens) == (1, 7)

    async def test_an_append_may_say_what_the_record_says_of_the_context(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a", "b", "c", "d")
        batch = [say("e", tokens=3), say("f", tokens=4)]
        told = [
            await store.append(ADA, "s", batch),
            await store.append(ADA, "s", batch),
            await store.append(ADA, "s", [say("g", tokens=5)]),
            await store.append(ADA, "s", [say("h", tokens=6)], parent="b"),
        ]
        assert told[0].context_tokens in (None, 11)
        assert told[1].context_tokens in (None, 11)
        assert told[2].context_tokens in (None, 16)
        assert told[3].context_tokens in (None, 8)
        await store.add_overlay(ADA, "s", cover("a", "b", tokens=1))
        done = await store.append(ADA, "s", [say("i", tokens=2)])
        record = await record_of(store)
        assert done.context_tokens in (None, record.context_tokens)
        assert record.context_tokens == 9

    async def test_an_append_may_say_which_version_of_the_record_it_met(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a", "b")
        for id, parent in (("c", None), ("d", "a"), ("e", None)):
            record = (await store.update_session(ADA, "s", SessionPatch())).record
            done = await store.append(ADA, "s", [say(id)], parent=parent)
            assert done.stamp in (None, (record.version, record.created_us))

    async def test_a_message_without_an_id_gets_one(self, store: AsyncStore) -> None:
        await grow(store)
        new = NewMessage(role="user", parts=[TextPart(text="same")])
        done = await store.append(ADA, "s", [new, new])
        again = await store.append(ADA, "s", [new])
        ids = [message.id for message in done.messages + again.messages]
        assert len(set(ids)) == 3
        assert await shown_in(store) == ids

    async def test_tokens_are_estimated_where_they_are_not_given(self, store: AsyncStore) -> None:
        await grow(store)
        done = await store.append(ADA, "s", [say("a", "word"), say("b", "word " * 500)])
        few, many = (message.tokens for message in done.messages)
        assert 0 < few < many
        assert (await record_of(store)).context_tokens == few + many

    async def test_a_message_keeps_the_time_that_its_client_gives(self, store: AsyncStore) -> None:
        await grow(store)
        await store.create_session(ADA, NewSession(id="old", created_us=5_000_000))
        first = say("a", created_us=7_000_000)
        done = await store.append(ADA, "old", [first, say("b", created_us=6_000_001)])
        assert [it.created_us for it in done.messages] == [7_000_000, 6_000_001]
        await store.append(ADA, "old", [say("c", created_us=8_000_002)])
        read = await store.read(ADA, "old", Read())
        assert [it.created_us for it in read.messages_only] == [7_000_000, 6_000_001, 8_000_002]
        record = await record_of(store, "old")
        assert (record.created_us, record.active_us) == (5_000_000, 8_000_002)
        again = await store.append(ADA, "old", [say("a")])
        assert (again.written, again.messages[0].created_us) == (0, 7_000_000)
        await store.append(ADA, "old", [say("d")])
        assert (await record_of(store, "old")).active_us > 8_000_002

    async def test_appends_of_one_session_share_a_segment(self, store: AsyncStore) -> None:
        messages = await grow(store, "m1", "m2", "m3")
        assert len({message.segment for message in messages}) == 1
        assert [message.depth for message in messages] == [1, 2, 3]

    async def test_an_append_in_the_middle_begins_a_branch(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        done = await store.append(ADA, "s", [say("m4")], parent="m1")
        assert (done.tip, done.messages[0].depth) == ("m4", 2)
        assert await shown_in(store) == ["m1", "m4"]
        assert await shown_in(store, leaf="m3") == ["m1", "m2", "m3"]

    async def test_an_append_at_the_root_begins_another_tree_top(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        done = await store.append(ADA, "s", [say("m2")], parent=ROOT)
        assert done.messages[0].depth == 1
        assert await shown_in(store) == ["m2"]

    async def test_a_position_is_never_used_again(self, store: AsyncStore) -> None:
        places = {message.position for message in await grow(store, "m1", "m2", "m3")}
        for n in range(3):
            await store.delete_messages(ADA, "s", ["m3"] if n == 0 else [f"x{n - 1}"])
            await store.checkout(ADA, "s", "m2")
            [message] = await grow(store, f"x{n}")
            assert message.position not in places
            places.add(message.position)

    async def test_rule_07_an_unknown_parent_is_an_error(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await grow(store, "x1", session="other")
        before = await state_of(store)
        for parent in ("nothing", "x1"):
            with pytest.raises(NotFoundError) as raised:
                await store.append(ADA, "s", [say("m2")], parent=parent)
            assert (raised.value.kind, raised.value.id) == ("message", parent)
        assert await state_of(store) == before

    async def test_rule_05_order_is_by_position_and_not_by_clock(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        ids = [f"m{n}" for n in range(9, 0, -1)]
        for id in ids:
            await grow(store, id)
            clock.advance(-60)
        assert await shown_in(store) == ids
        assert await shown_in(store, backwards=True, limit=2) == ids[-2:]

    async def test_rule_02_same_id_same_content_writes_nothing(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        [first, _] = await grow(store, "m1", "m2")
        clock.advance(2)
        before = await state_of(store)
        done = await store.append(ADA, "s", [say("m1", tokens=99)])
        assert (done.messages, done.written, done.tip) == ([first], 0, "m2")
        assert await state_of(store) == before

    async def test_rule_02_other_content_under_a_known_id_is_a_conflict(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        before = await state_of(store)
        call = ToolCallPart(call_id="c", name="n", input={})
        for other in (
            say("m1", "other"),
            say("m1", role="assistant"),
            say("m1", metadata={"k": None}),
            NewMessage(id="m1", role="user", parts=[]),
            NewMessage(id="m1", role="user", parts=[TextPart(text="m1"), call]),
            NewMessage(id="m1", role="user", parts=[TextPart(text="m1", extra={"cache": True})]),
        ):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [other])
        assert await state_of(store) == before

    async def test_rule_02_the_order_of_keys_does_not_matter(self, store: AsyncStore) -> None:
        await grow(store)
        metadata = {"a": {"x": 1, "y": 2}, "b": [3]}
        turned = {"b": [3], "a": {"y": 2, "x": 1}}
        await store.append(ADA, "s", [say("m1", metadata=metadata)])
        assert (await store.append(ADA, "s", [say("m1", metadata=turned)])).written == 0
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m1", metadata={**metadata, "b": [3, 4]})])

    async def test_rule_02_numbers_that_json_writes_differently_are_other_content(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1", metadata={"n": 1})])
        for other in (1.0, True, "1"):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [say("m1", metadata={"n": other})])

    async def test_rule_02_an_update_does_not_change_what_a_retry_is_compared_to(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        updated = (await store.update_message(ADA, "s", say("m1", "changed"))).message
        done = await store.append(ADA, "s", [say("m1")])
        assert (done.written, done.messages) == (0, [updated])
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m1", "changed")])

    async def test_rule_02_a_deleted_id_stays_taken(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.delete_messages(ADA, "s", ["m1"])
        for message in (say("m1"), say("m1", "other")):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [message])
        assert await shown_in(store) == ["m2"]

    async def test_rule_02_a_retry_succeeds_whatever_the_expected_tip(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        for _ in range(2):
            await store.append(ADA, "s", [say("m2")], expected_tip="m1")
        await grow(store, "m3")
        done = await store.append(ADA, "s", [say("m2")], expected_tip="m1")
        assert (done.written, done.tip) == (0, "m3")

    async def test_rule_02_a_retry_with_its_parent_succeeds_and_another_parent_is_a_conflict(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        await store.append(ADA, "s", [say("m3")], parent="m1")
        await store.checkout(ADA, "s", "m2")
        done = await store.append(ADA, "s", [say("m3")], parent="m1")
        assert (done.written, done.tip) == (0, "m2")
        for parent in ("m2", ROOT, "nothing", "m3"):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [say("m3")], parent=parent)
        assert (await store.append(ADA, "s", [say("m1")], parent=ROOT)).written == 0

    async def test_rule_02_ids_on_all_own_branches_are_known(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.append(ADA, "s", [say("m3")], parent="m1")
        done = await store.append(ADA, "s", [say("m2")])
        assert (done.written, done.tip) == (0, "m3")

    async def test_rule_02_a_fork_knows_the_ids_of_its_path_and_no_others(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.append(ADA, "s", [say("x1")], parent="m1")
        await store.create_session(ADA, fork_of("s", "m2"))
        assert (await store.append(ADA, "fork", [say("m1")])).written == 0
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "fork", [say("m2", "other")])
        done = await store.append(ADA, "fork", [say("m3", "mine"), say("x1", "mine")])
        assert done.written == 2
        assert await shown_in(store, "fork") == ["m1", "m2", "m3", "x1"]
        assert (await message_in(store, "m3")).text == "m3"
        await store.append(ADA, "s", [say("f9")])
        assert (await store.append(ADA, "fork", [say("f9", "mine")])).written == 1

    async def test_rule_02_a_retry_through_a_fork_gives_the_shared_message(
        self, store: AsyncStore
    ) -> None:
        [first, _] = await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s"))
        done = await store.append(ADA, "fork", [say("m1")])
        assert (done.messages, done.tip) == ([first], "m2")
        assert (await record_of(store, "fork")).messages == 0


class AsyncExpectedTipContract(AsyncContractBase):
    """A writer that cares names the tip it expects."""

    async def test_rule_06_blind_appends_follow_each_other(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        assert [leaf.id for leaf in await store.list_leaves(ADA, "s")] == ["m3"]
        assert await shown_in(store) == ["m1", "m2", "m3"]

    async def test_rule_06_the_expected_tip_lets_an_append_pass(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1")], expected_tip=ROOT)
        await store.append(ADA, "s", [say("m2")], expected_tip="m1")
        assert await shown_in(store) == ["m1", "m2"]

    async def test_rule_06_another_tip_is_an_error_and_nothing_is_written(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        before = await state_of(store)
        for expected in ("m1", ROOT, "nothing"):
            with pytest.raises(StaleTipError):
                await store.append(ADA, "s", [say("m3")], expected_tip=expected)
        assert await state_of(store) == before

    async def test_rule_06_a_tip_moved_by_checkout_is_stale_too(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.checkout(ADA, "s", "m1")
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("m3")], expected_tip="m2")

    async def test_parent_and_expected_tip_hold_together(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("m3")], parent="m1", expected_tip="m1")
        await store.append(ADA, "s", [say("m3")], parent="m1", expected_tip="m2")
        assert await shown_in(store) == ["m1", "m3"]

    async def test_a_deleted_tip_is_still_the_tip(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.delete_messages(ADA, "s", ["m2"])
        done = await store.append(ADA, "s", [say("m3")], expected_tip="m2")
        assert done.messages[0].depth == 3
        assert await shown_in(store) == ["m1", "m3"]
