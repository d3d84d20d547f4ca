"""Marks: positions that have data, and never had a message."""

from __future__ import annotations

import pytest

from ...errors import (
    AlreadyExistsError,
    ConflictError,
    MessageConflictError,
    NotFoundError,
    StaleTipError,
    StaleVersionError,
)
from ...model import (
    ROOT,
    ChangeKind,
    NewMessage,
    NewSession,
    Search,
    SessionPatch,
)
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import (
    AsyncContractBase,
    grow,
    history_of,
    message_in,
    record_of,
    shown_in,
    state_of,
)
from .data import ONE, TWO, chain, held, mark


class AsyncMarkContract(AsyncContractBase):
    """A mark is a position without a message."""

    async def test_a_mark_is_not_shown_found_counted_or_searched(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        active = (await record_of(store)).active_us
        done = await mark(store, {"word": "findme"}, id="k")
        assert (done.messages, done.written, done.tip, done.known) == ([], 1, "k", [])
        await grow(store, "m2")
        assert await store.find_messages(ADA, "s", ["k", "m2"]) == [
            None,
            await message_in(store, "m2"),
        ]
        assert await shown_in(store) == ["m1", "m2"]
        assert await shown_in(store, limit=2, backwards=True) == ["m1", "m2"]
        record = await record_of(store)
        assert (record.messages, record.context_tokens) == (2, 2)
        assert (await store.statistics(ADA)).messages == 2
        assert (await store.search(ADA, Search(text="findme"))).hits == []
        changes = (await store.changes(ADA)).changes
        told = [it.message for it in changes if it.kind is not ChangeKind.RECORD]
        assert told == ["m1", "m2"]
        assert await store.find_homes(ADA, "k") == []
        assert await store.find_parents(ADA, "s", ["m2", "k"]) == ["k", "m1"]
        listed = await store.list_messages(ADA, "s", after=done.data_at)
        assert ids_of(listed.messages) == ["m2"]
        assert (await message_in(store, "m2")).depth == 3
        assert record.active_us >= active
        assert await store.list_gaps(ADA, "s", "m2") == []
        assert await store.admin.check() == []

    async def test_a_mark_is_no_activity(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1", created_us=5)])
        await mark(store, ONE)
        assert (await record_of(store)).active_us == 5
        await store.append(ADA, "s", [say("m2", created_us=3_000_000)])
        assert (await record_of(store)).active_us == 3_000_000

    async def test_rule_02_a_mark_is_appended_once(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        first = await mark(store, ONE, id="k")
        await grow(store, "m2")
        before = await state_of(store)
        again = await mark(store, ONE, id="k")
        assert (again.messages, again.written, again.known) == ([], 0, ["k"])
        assert (again.data_at, again.tip) == (first.data_at, "m2")
        with pytest.raises(MessageConflictError):
            await mark(store, TWO, id="k")
        with pytest.raises(MessageConflictError):
            await mark(store, ONE, id="m1")
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("k")])
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("k")], data=ONE)
        with pytest.raises(AlreadyExistsError):
            await mark(store, ONE, id="k", on_known="raise")
        assert await state_of(store) == before
        await store.checkout(ADA, "s", "m1")
        assert (await mark(store, ONE, id="k", on_known="skip")).elsewhere == ["k"]

    async def test_a_mark_without_an_id_gets_one(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        one, two = await mark(store, ONE), await mark(store, ONE)
        assert isinstance(one.tip, str)
        assert one.tip != two.tip
        assert [it.id for it in await chain(store)] == [two.tip, one.tip]

    async def test_a_mark_is_named_wherever_a_message_is(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await mark(store, ONE, id="k")
        await grow(store, "m2")
        await store.append(ADA, "s", [say("m3")], parent="k")
        assert await held(store) == ONE
        again = await store.append(ADA, "s", [say("m3")], parent="k")
        assert again.written == 0
        history = await history_of(store, leaf="k")
        assert (ids_of(history.messages_only), history.leaf) == (["m1"], "k")
        record = await store.checkout(ADA, "s", "k", expected_tip="m3")
        assert (record.tip, record.context_tokens) == ("k", 1)
        assert (await history_of(store)).tip == "k"
        await store.append(ADA, "s", [say("m4")], expected_tip="k")
        fork = await store.create_session(ADA, fork_of("s", "k"))
        assert (fork.tip, fork.messages) == ("k", 0)
        assert await shown_in(store, "fork") == ["m1"]
        await grow(store, "f1", session="fork")
        assert await held(store, "fork") == ONE
        assert await store.list_gaps(ADA, "fork", "k") == []
        assert await store.admin.check() == []

    async def test_a_mark_has_no_message_to_change(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await mark(store, ONE, id="k")
        before = await state_of(store)
        with pytest.raises(NotFoundError):
            await store.update_message(ADA, "s", say("k"))
        with pytest.raises(ConflictError):
            await store.add_overlay(ADA, "s", cover("m1", "k"))
        deleted = await store.delete_messages(ADA, "s", ["k"])
        assert (deleted.ids, deleted.data) == ([], [])
        assert await state_of(store) == before

    async def test_children_and_siblings_look_through_marks(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await mark(store, ONE, id="k1")
        await mark(store, TWO, id="k2")
        await grow(store, "a")
        await store.append(ADA, "s", [say("b")], parent="m1")
        await store.append(ADA, "s", [say("c")], parent="k1")
        children = await store.list_children(ADA, "s", "m1")
        assert {it.id for it in children} == {"a", "b", "c"}
        assert [it.position for it in children] == sorted(it.position for it in children)
        assert {it.id for it in await store.list_children(ADA, "s", "k1")} == {"a", "c"}
        assert ids_of(await store.list_children(ADA, "s", "k2")) == ["a"]
        await store.create_session(ADA, fork_of("s", "k2"))
        assert await store.list_children(ADA, "fork", "m1") == []
        await grow(store, "f", session="fork")
        assert ids_of(await store.list_children(ADA, "fork", "m1")) == ["f"]
        await store.append(ADA, "s", [], data=ONE, parent=ROOT, id="k0")
        await grow(store, "second root")
        roots = await store.list_children(ADA, "s", ROOT)
        assert {it.id for it in roots} == {"m1", "second root"}

    async def test_a_mark_at_an_end_is_a_leaf(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        done = await mark(store, ONE, id="k")
        [leaf] = await store.list_leaves(ADA, "s")
        assert (leaf.id, leaf.position, leaf.message) == ("k", done.data_at, None)

    async def test_rule_06_an_expected_tip_holds_when_only_marks_follow(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await mark(store, ONE, id="k1", expected_tip="m1")
        await mark(store, TWO, id="k2", expected_tip="m1")
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("x")], expected_tip=ROOT)
        await store.update_session(ADA, "s", SessionPatch(), expected_tip="m1")
        await store.update_message(ADA, "s", say("m1", "new"), expected_tip="k1")
        await store.append(ADA, "s", [say("m2")], expected_tip="k1")
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("x")], expected_tip="m1")
        await mark(store, ONE, id="k3")
        await store.append(ADA, "s", [say("m2"), say("m3")], expected_tip="m2")
        await mark(store, ONE, id="k4")
        await store.checkout(ADA, "s", "m1", expected_tip="m3")
        await store.create_session(ADA, fork_of("s", "k4"))
        await store.append(ADA, "fork", [say("f")], expected_tip="m3")
        await store.create_session(ADA, NewSession(id="new"))
        await mark(store, ONE, "new")
        await store.append(ADA, "new", [say("m1")], expected_tip=ROOT)

    async def test_a_mark_under_an_overlay_is_covered(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await mark(store, ONE, id="k")
        await grow(store, "m2", "m3")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
        assert await shown_in(store) == ["<o>", "m3"]
        assert await held(store) == ONE
        assert (await history_of(store)).context_tokens == 2

    async def test_what_comes_along_comes_with_a_mark(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await mark(store, ONE, id="k", patch=SessionPatch(title="t"), expected_version=1)
        with pytest.raises(StaleVersionError):
            await mark(store, TWO, patch=SessionPatch(title="u"), expected_version=1)
        assert ((await record_of(store)).title, await held(store)) == ("t", ONE)

    async def test_nothing_to_append_stays_an_error(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        empty: list[NewMessage] = []
        for options in ({}, {"id": "k"}, {"expected_data": ROOT}):
            with pytest.raises(ValueError, match=r"message|mark"):
                await store.append(ADA, "s", empty, **options)
