"""Overlays: what they show, whom they concern, and that they destroy nothing."""

from __future__ import annotations

import json

import pytest

from ...errors import NotFoundError, StoreCorruptError
from ...model import ROOT, NewOverlay, Summary
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ref, say, shown
from .base import AsyncContractBase, grow, history_of, message_in, record_of, shown_in


class AsyncOverlayContract(AsyncContractBase):
    """An overlay stands in for a range until it is undone."""

    async def test_rule_09_an_overlay_hides_its_range_and_destroys_nothing(
        self, store: AsyncStore
    ) -> None:
        messages = await grow(store, *"12345", tokens=10)
        overlay = await store.add_overlay(ADA, "s", cover("2", "4", id="o", tokens=3))
        assert (overlay.first, overlay.last) == (messages[1].position, messages[3].position)
        assert (overlay.tokens, overlay.covered_tokens) == (3, 30)
        assert (overlay.created_by, overlay.summary) == ("s", "from 2 to 4")
        history = await history_of(store)
        assert (shown(history), history.context_tokens) == (["1", "<o>", "5"], 23)
        [summary] = [entry for entry in history.entries if isinstance(entry, Summary)]
        assert (summary.overlay, summary.text, summary.pinned) == (overlay, "from 2 to 4", [])
        assert (await record_of(store)).context_tokens == 23
        assert (await record_of(store)).messages == 5
        assert (await history_of(store, overlays=False)).messages_only == messages
        assert await store.list_overlays(ADA, "s") == [overlay]

    async def test_rule_09_undo_shows_again_what_was_covered(self, store: AsyncStore) -> None:
        await grow(store, *"12345", tokens=10)
        before = (await history_of(store)).entries
        overlay = await store.add_overlay(ADA, "s", cover("1", "5", id="o"))
        assert await store.undo_overlay(ADA, "s", "o") == overlay
        assert (await history_of(store)).entries == before
        assert (await record_of(store)).context_tokens == 50
        assert await store.list_overlays(ADA, "s") == []
        with pytest.raises(NotFoundError) as raised:
            await store.undo_overlay(ADA, "s", "o")
        assert (raised.value.kind, raised.value.id) == ("overlay", "o")

    async def test_rule_09_a_message_that_arrives_meanwhile_survives(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123")
        snapshot = (await history_of(store)).snapshot
        await grow(store, "4", "5")
        await store.add_overlay(ADA, "s", cover("1", "3", id="o", snapshot=snapshot))
        assert await shown_in(store) == ["<o>", "4", "5"]

    async def test_id_tokens_and_metadata_are_kept_or_made(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        new = NewOverlay(
            first=ref("1"), last=ref("2"), summary="words " * 50, metadata={"by": ["x", 1]}
        )
        overlay = await store.add_overlay(ADA, "s", new)
        assert overlay.id
        assert overlay.tokens > 10
        assert overlay.metadata == {"by": ["x", 1]}
        assert await store.list_overlays(ADA, "s") == [overlay]

    async def test_a_wider_overlay_takes_in_a_summary(self, store: AsyncStore) -> None:
        await grow(store, *"123456", tokens=10)
        await store.add_overlay(ADA, "s", cover("2", "3", id="o1", tokens=4))
        wide = await store.add_overlay(ADA, "s", cover("1", "<o1>", id="o2", tokens=5))
        assert wide.covered_tokens == 14
        assert await shown_in(store) == ["<o2>", "4", "5", "6"]
        widest = await store.add_overlay(ADA, "s", cover("<o2>", "5", id="o3", tokens=6))
        assert widest.covered_tokens == 25
        assert await shown_in(store) == ["<o3>", "6"]
        assert [o.id for o in await store.list_overlays(ADA, "s")] == ["o1", "o2", "o3"]
        await store.undo_overlay(ADA, "s", "o2")
        assert await shown_in(store) == ["<o3>", "6"]
        await store.undo_overlay(ADA, "s", "o3")
        assert await shown_in(store) == ["1", "<o1>", "4", "5", "6"]

    async def test_of_two_over_the_same_range_the_newest_is_shown(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.add_overlay(ADA, "s", cover("1", "2", id="z"))
        await store.add_overlay(ADA, "s", cover("<z>", "<z>", id="a"))
        assert await shown_in(store) == ["<a>", "3"]
        await store.undo_overlay(ADA, "s", "a")
        assert await shown_in(store) == ["<z>", "3"]

    async def test_an_overlay_is_shown_only_where_its_end_is_on_the_path(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345")
        await store.append(ADA, "s", [say("x")], parent="3")
        await store.add_overlay(ADA, "s", cover("2", "4", id="o", leaf="5"))
        assert await shown_in(store) == ["1", "2", "3", "x"]
        assert await shown_in(store, leaf="5") == ["1", "<o>", "5"]
        assert await shown_in(store, leaf="4") == ["1", "<o>"]
        assert await shown_in(store, leaf="3") == ["1", "2", "3"]
        assert (await store.checkout(ADA, "s", "5")).context_tokens == 3

    async def test_overlays_that_cross_are_resolved_from_the_leaf_upwards(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345678", tokens=10)
        await store.add_overlay(ADA, "s", cover("4", "6", id="long", tokens=1))
        await store.add_overlay(ADA, "s", cover("2", "5", id="old", tokens=1, leaf="5"))
        assert await shown_in(store) == ["1", "2", "3", "<long>", "7", "8"]
        assert await shown_in(store, leaf="5") == ["1", "<old>"]
        assert (await record_of(store)).context_tokens == 51
        await store.undo_overlay(ADA, "s", "long")
        assert await shown_in(store) == ["1", "<old>", "6", "7", "8"]
        assert (await record_of(store)).context_tokens == 41

    async def test_the_sums_follow_appends_edits_and_deletes_around_an_overlay(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345", tokens=10)
        await store.add_overlay(ADA, "s", cover("2", "3", id="o", tokens=1))
        await store.update_message(ADA, "s", say("2", "hidden", tokens=70))
        await store.update_message(ADA, "s", say("4", "shown", tokens=20))
        await store.delete_messages(ADA, "s", ["3", "1"])
        await grow(store, "6", tokens=10)
        assert (await record_of(store)).context_tokens == 1 + 20 + 10 + 10
        await store.undo_overlay(ADA, "s", "o")
        assert (await record_of(store)).context_tokens == 70 + 20 + 10 + 10
        assert (await history_of(store)).context_tokens == 110

    async def test_a_tip_may_lie_under_an_overlay(self, store: AsyncStore) -> None:
        await grow(store, *"123", tokens=10)
        await store.add_overlay(ADA, "s", cover("2", "3", id="o", tokens=1))
        assert (await record_of(store)).tip == "3"
        await grow(store, "4", tokens=10)
        assert await shown_in(store) == ["1", "<o>", "4"]
        assert (await record_of(store)).context_tokens == 21
        assert (await store.checkout(ADA, "s", ROOT)).context_tokens == 0


class AsyncOverlayForkContract(AsyncContractBase):
    """What one session compacts or undoes does not change what another is shown."""

    async def test_a_fork_takes_the_overlays_of_its_path(self, store: AsyncStore) -> None:
        await grow(store, *"123456")
        for new in (cover("1", "2", id="in"), cover("<in>", "3", id="in2")):
            await store.add_overlay(ADA, "s", new)
        await store.add_overlay(ADA, "s", cover("4", "6", id="out"))
        record = await store.create_session(ADA, fork_of("s", "5"))
        assert await shown_in(store, "fork") == ["<in2>", "4", "5"]
        assert record.context_tokens == 3
        assert [o.id for o in await store.list_overlays(ADA, "fork")] == ["in", "in2"]
        await store.undo_overlay(ADA, "fork", "in2")
        assert await shown_in(store, "fork") == ["<in>", "3", "4", "5"]
        assert await shown_in(store) == ["<in2>", "<out>"]

    async def test_later_overlays_and_undos_concern_one_session(self, store: AsyncStore) -> None:
        await grow(store, *"1234")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o1"))
        await store.create_session(ADA, fork_of("s"))
        await store.undo_overlay(ADA, "s", "o1")
        await store.add_overlay(ADA, "s", cover("3", "4", id="o2"))
        await store.add_overlay(ADA, "fork", cover("<o1>", "3", id="o3"))
        assert await shown_in(store) == ["1", "2", "<o2>"]
        assert await shown_in(store, "fork") == ["<o3>", "4"]
        with pytest.raises(NotFoundError):
            await store.undo_overlay(ADA, "s", "o3")

    async def test_an_overlay_lives_while_any_session_has_it(self, store: AsyncStore) -> None:
        await grow(store, *"1234")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o1"))
        await store.create_session(ADA, fork_of("s"))
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert await shown_in(store, "fork") == ["<o1>", "3", "4"]
        await store.undo_overlay(ADA, "fork", "o1")
        assert await shown_in(store, "fork") == list("1234")


class AsyncPinContract(AsyncContractBase):
    """Pinned messages are shown right after the summary that covers them."""

    async def test_pins_are_shown_in_order_and_counted(self, store: AsyncStore) -> None:
        await grow(store, *"123456", tokens=10)
        await store.add_overlay(ADA, "s", cover("2", "5", id="o", tokens=1))
        pins = json.dumps(["4", "2", "1", "nothing", "6"]).encode()
        await store.put_document(ADA, "pins", pins, session="s")
        history = await history_of(store)
        assert shown(history) == ["1", "<o>+2+4", "6"]
        assert [m.id for m in history.messages_only] == ["1", "2", "4", "6"]
        assert history.context_tokens == 41
        assert (await record_of(store)).context_tokens == 41
        bare = (await history_of(store, after=1, before=6)).bytes
        await store.delete_messages(ADA, "s", ["2"])
        assert await shown_in(store) == ["1", "<o>+4", "6"]
        assert (await history_of(store, after=1, before=6)).bytes < bare
        assert (await record_of(store)).context_tokens == 31
        await store.delete_document(ADA, "pins", session="s")
        assert await shown_in(store) == ["1", "<o>", "6"]
        assert (await record_of(store)).context_tokens == 21

    async def test_a_fork_gets_the_pins_and_goes_on_with_its_own(self, store: AsyncStore) -> None:
        await grow(store, *"123", tokens=10)
        await store.put_document(ADA, "pins", b'["1"]', session="s")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o", tokens=1))
        fork = await store.create_session(ADA, fork_of("s"))
        assert fork.context_tokens == 21
        await store.put_document(ADA, "pins", b'["2"]', session="s")
        assert await shown_in(store, "fork") == ["<o>+1", "3"]
        assert await shown_in(store) == ["<o>+2", "3"]

    async def test_pins_of_another_branch_are_not_shown(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.append(ADA, "s", [say("x"), say("y")], parent="1")
        await store.put_document(ADA, "pins", b'["2", "x"]', session="s")
        await store.add_overlay(ADA, "s", cover("1", "y", id="o"))
        assert await shown_in(store) == ["<o>+x"]

    @pytest.mark.parametrize("value", [b"", b"{", b"{}", b"[1]", b'"m1"', b"null", b"\xff"])
    async def test_rule_08_pins_that_cannot_be_read_are_an_error_and_not_no_pins(
        self, store: AsyncStore, value: bytes
    ) -> None:
        await grow(store, *"123")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"))
        await store.put_document(ADA, "pins", value, session="s")
        with pytest.raises(StoreCorruptError):
            await history_of(store)
        assert await shown_in(store, overlays=False) == list("123")
        await store.put_document(ADA, "pins", b'["1"]', session="s")
        assert await shown_in(store) == ["<o>+1", "3"]
        assert (await message_in(store, "1")).text == "1"
