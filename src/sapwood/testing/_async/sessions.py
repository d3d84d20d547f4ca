"""Sessions: their records, their tips, their changes."""

from __future__ import annotations

import pytest

from ...errors import AlreadyExistsError, NotFoundError, StaleTipError, StaleVersionError
from ...model import ROOT, Edge, EdgeKind, NewSession, Root, SessionPatch
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, say
from .base import AsyncContractBase, grow, record_of, shown_in


class AsyncSessionContract(AsyncContractBase):
    """A session is a record with a tip, changed by patches."""

    async def test_a_new_session_is_empty_and_stands_at_the_root(self, store: AsyncStore) -> None:
        record = await store.create_session(ADA, NewSession(id="s"))
        assert (record.id, record.tip, record.tip_position) == ("s", ROOT, None)
        assert (record.messages, record.context_tokens, record.version) == (0, 0, 1)
        assert (record.parent, record.forked_at, record.title) == (None, None, None)
        assert (record.tags, record.attributes, record.budget) == ([], {}, None)
        assert (record.state, record.end_reason) == ("active", None)
        assert (record.model, record.source) == (None, None)
        assert record.created_us == record.active_us

    async def test_find_gives_what_create_gave(self, store: AsyncStore) -> None:
        new = NewSession(
            id="s",
            title="A “title”",
            state="idle",
            tags=["b", "a"],
            attributes={"k": [1]},
            budget=0,
            model="vendor/größer",
            source="cli",
            end_reason="timeout",
        )
        created = await store.create_session(ADA, new)
        assert await store.find_session(ADA, "s") == created
        assert (created.title, created.state, created.budget) == ("A “title”", "idle", 0)
        assert (sorted(created.tags), created.attributes) == (["a", "b"], {"k": [1]})
        about = (created.model, created.source, created.end_reason)
        assert about == ("vendor/größer", "cli", "timeout")

    async def test_find_of_an_unknown_session_is_none(self, store: AsyncStore) -> None:
        assert await store.find_session(ADA, "nobody") is None

    async def test_a_taken_id_is_refused_and_its_session_stays(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        before = await record_of(store)
        with pytest.raises(AlreadyExistsError):
            await store.create_session(ADA, NewSession(id="s", title="other"))
        assert await record_of(store) == before

    async def test_ids_are_compared_byte_by_byte(self, store: AsyncStore) -> None:
        names = ["a", "A", "a ", "å", "a\u030a", "\uff41", "%", "_", "a%", "x" * 256, "é" * 128]
        for name in names:
            await store.create_session(ADA, NewSession(id=name))
            await store.append(ADA, name, [say("m", name)])
        for name in names:
            [message] = await store.find_messages(ADA, name, ["m"])
            assert message is not None
            assert message.text == name

    async def test_a_session_remembers_what_it_came_out_of(self, store: AsyncStore) -> None:
        await grow(store, session="old")
        edge = Edge(kind=EdgeKind.RESET, session="old")
        assert (await store.create_session(ADA, NewSession(id="s", parent=edge))).parent == edge
        await store.delete_session(ADA, "old")
        assert (await record_of(store)).parent == edge

    async def test_rule_07_an_unknown_parent_session_is_an_error(self, store: AsyncStore) -> None:
        edge = Edge(kind=EdgeKind.CONTINUE, session="nobody")
        with pytest.raises(NotFoundError) as raised:
            await store.create_session(ADA, NewSession(id="s", parent=edge))
        assert (raised.value.kind, raised.value.id) == ("session", "nobody")
        assert await store.find_session(ADA, "s") is None

    async def test_a_patch_changes_what_it_gives_and_nothing_else(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s", title="t", tags=["x"], budget=5))
        patch = SessionPatch(attributes={"a": 1}, state="done")
        first = (await store.update_session(ADA, "s", patch)).record
        assert (first.title, first.tags, first.budget) == ("t", ["x"], 5)
        assert (first.attributes, first.state, first.version) == ({"a": 1}, "done", 2)
        patch = SessionPatch(title=None, budget=None)
        second = (await store.update_session(ADA, "s", patch)).record
        assert (second.title, second.budget, second.tags) == (None, None, ["x"])
        patch = SessionPatch(tags=[], attributes={}, title="")
        third = (await store.update_session(ADA, "s", patch)).record
        assert (third.tags, third.attributes, third.title, third.version) == ([], {}, "", 4)
        assert await record_of(store) == third

    async def test_model_source_and_end_reason_are_set_changed_and_taken_away(
        self, store: AsyncStore
    ) -> None:
        await store.create_session(ADA, NewSession(id="s", model="small"))
        patch = SessionPatch(source="web", end_reason="archive")
        first = (await store.update_session(ADA, "s", patch)).record
        assert (first.model, first.source, first.end_reason) == ("small", "web", "archive")
        patch = SessionPatch(model="large", source=None, end_reason=None)
        second = (await store.update_session(ADA, "s", patch)).record
        assert (second.model, second.source, second.end_reason) == ("large", None, None)
        assert await record_of(store) == second

    async def test_an_empty_patch_counts_as_a_change(self, store: AsyncStore) -> None:
        await grow(store)
        assert (await store.update_session(ADA, "s", SessionPatch())).record.version == 2

    async def test_a_stale_version_is_refused_and_nothing_changes(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.update_session(ADA, "s", SessionPatch(title="one"), expected_version=1)
        before = await record_of(store)
        for version in (1, 3):
            with pytest.raises(StaleVersionError):
                await store.update_session(
                    ADA, "s", SessionPatch(title="two"), expected_version=version
                )
        assert await record_of(store) == before

    async def test_checkouts_count_to_the_version_and_appends_do_not(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        assert (await record_of(store)).version == 1
        assert (await store.checkout(ADA, "s", "m1")).version == 2
        with pytest.raises(StaleVersionError):
            await store.update_session(ADA, "s", SessionPatch(title="t"), expected_version=1)
        await store.update_session(ADA, "s", SessionPatch(title="t"), expected_version=2)

    async def test_checkout_moves_the_tip_and_the_next_append_follows_it(
        self, store: AsyncStore
    ) -> None:
        [one, _, _] = await grow(store, "m1", "m2", "m3")
        record = await store.checkout(ADA, "s", "m1")
        assert (record.tip, record.tip_position) == ("m1", one.position)
        assert record == await record_of(store)
        assert await shown_in(store) == ["m1"]
        await grow(store, "m4")
        assert await shown_in(store) == ["m1", "m4"]
        await store.checkout(ADA, "s", "m3")
        assert await shown_in(store) == ["m1", "m2", "m3"]

    async def test_checkout_of_the_root_begins_another_first_message(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        record = await store.checkout(ADA, "s", ROOT)
        assert (record.tip, record.tip_position, record.context_tokens) == (ROOT, None, 0)
        assert await shown_in(store) == []
        await grow(store, "m2")
        assert await shown_in(store) == ["m2"]

    @pytest.mark.parametrize("target", ["m1", ROOT])
    async def test_rule_06_a_checkout_from_another_tip_hides_nothing(
        self, store: AsyncStore, target: str | Root
    ) -> None:
        await grow(store, "m1", "m2")
        await grow(store, "m3")
        before = await record_of(store)
        for tip in ("m2", ROOT, "nothing"):
            with pytest.raises(StaleTipError):
                await store.checkout(ADA, "s", target, expected_tip=tip)
        assert await record_of(store) == before
        assert (await store.checkout(ADA, "s", target, expected_tip="m3")).tip == target
        again = await store.checkout(ADA, "s", "m3", expected_tip=target)
        assert (again.tip, again.version) == ("m3", before.version + 2)

    async def test_a_session_that_was_changed_since_is_not_deleted(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.update_session(ADA, "s", SessionPatch(title="t"))
        with pytest.raises(StaleVersionError):
            await store.delete_session(ADA, "s", expected_version=1)
        assert await shown_in(store) == ["m1"]
        await store.delete_session(ADA, "s", expected_version=2)
        assert await store.find_session(ADA, "s") is None

    async def test_rule_07_checkout_of_an_unseen_message_is_an_error(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await grow(store, "x1", session="other")
        for id in ("nothing", "x1"):
            with pytest.raises(NotFoundError) as raised:
                await store.checkout(ADA, "s", id)
            assert (raised.value.kind, raised.value.id) == ("message", id)
        assert (await record_of(store)).tip == "m1"

    async def test_activity_is_the_time_of_the_last_append_that_wrote(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        created = await store.create_session(ADA, NewSession(id="s"))
        clock.advance(2)
        await grow(store, "m1")
        active = (await record_of(store)).active_us
        assert active >= created.active_us + 2_000_000
        clock.advance(2)
        await store.append(ADA, "s", [say("m1")])
        await store.checkout(ADA, "s", ROOT)
        await store.update_session(ADA, "s", SessionPatch(title="t"))
        assert (await record_of(store)).active_us == active

    async def test_messages_counts_live_messages_of_all_branches(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.append(ADA, "s", [say("m3"), say("m4")], parent="m1")
        assert (await record_of(store)).messages == 4
        await store.delete_messages(ADA, "s", ["m2", "m3"])
        assert (await record_of(store)).messages == 2
