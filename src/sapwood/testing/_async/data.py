"""Data at positions: a session's data is that of its place in the tree."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import (
    MessageConflictError,
    MessageTooLargeError,
    NotFoundError,
    StaleVersionError,
    UnsupportedOperationError,
)
from ...model import (
    ROOT,
    ChangeKind,
    DataVersion,
    NewSession,
    Position,
)
from ...store import AsyncStore, Capability
from ..makers import ADA, fork_of, ids_of, say
from ..twin import AsyncCall
from .base import (
    AsyncContractBase,
    grow,
    history_of,
    message_in,
    record_of,
    shown_in,
    state_of,
)

ONE, TWO = {"n": 1}, {"n": 2}


async def mark(store: AsyncStore, value: dict[str, Any], session: str = "s", **options: Any) -> Any:
    """Append a mark."""
    return await store.append(ADA, session, [], data=value, **options)


async def chain(store: AsyncStore, session: str = "s") -> list[DataVersion]:
    """Return the versions at and above a session's tip."""
    tip = (await record_of(store, session)).tip_position
    return [] if tip is None else await store.list_data(ADA, session, tip)


async def held(store: AsyncStore, session: str = "s") -> dict[str, Any] | None:
    """Return the data that holds at a session's tip."""
    record = await record_of(store, session)
    if record.data_at is None:
        return None
    found = await store.read_data(ADA, session, record.data_at)
    assert found is not None
    assert found.position == record.data_at
    return found.value


class AsyncUndeclaredDataContract(AsyncContractBase):
    """A store that does not declare DATA refuses it."""

    async def test_data_is_refused_where_it_is_not_declared(self, store: AsyncStore) -> None:
        if Capability.DATA in store.capabilities:
            return
        [m1] = await grow(store, "m1")
        before = await state_of(store)
        calls: list[AsyncCall] = [
            lambda s, o, n: s.append(o, n, [say("x")], data=ONE),
            lambda s, o, n: s.append(o, n, [], data=ONE),
            lambda s, o, n: s.append(o, n, [say("x")], expected_data=ROOT),
            lambda s, o, n: s.clear_session(o, n, keep_data=True),
            lambda s, o, n: s.read_data(o, n, m1.position),
            lambda s, o, n: s.list_data(o, n, m1.position),
            lambda s, o, n: s.erase_data(o, n, "n"),
        ]
        for call in calls:
            with pytest.raises(UnsupportedOperationError):
                await call(store, ADA, "s")
        assert await state_of(store) == before


class AsyncDataContract(AsyncContractBase):
    """Versions of the data: given with an append, and found from everywhere below."""

    async def test_data_holds_from_its_message_on(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        assert await held(store) is None
        await grow(store, "m1")
        done = await store.append(ADA, "s", [say("m2"), say("m3")], data=ONE)
        await grow(store, "m4")
        stands = done.messages[1].position
        assert done.data_at == stands
        at = [(await message_in(store, id)).data_at for id in ("m1", "m2", "m3", "m4")]
        assert at == [None, None, stands, stands]
        read = (await history_of(store)).messages_only
        assert [message.data_at for message in read] == at
        assert [message.data_at for message in done.messages] == at[1:3]
        assert await held(store) == ONE

    async def test_an_append_tells_the_data_that_holds_at_its_messages(
        self, store: AsyncStore
    ) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        at = (await store.append(ADA, "s", [say("m1")], data=ONE)).data_at
        ours = await store.append(ADA, "s", [say(None, "x")])
        theirs = await store.append(ADA, "s", [say("m2")], parent="m1")
        both = await store.append(ADA, "s", [say("m3"), say("m4")])
        again = await store.append(ADA, "s", [say("m2")])
        for done in (ours, theirs, both, again):
            assert {message.data_at for message in done.messages} == {at}
            assert done.data_at is None

    async def test_versions_are_a_chain_to_the_first(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        first = await store.append(ADA, "s", [say("m2", created_us=5)], data=ONE)
        await grow(store, "m3")
        last = await mark(store, TWO, id="k")
        found = await chain(store)
        told = [(it.id, it.value, it.position, it.previous) for it in found]
        assert told == [
            ("k", TWO, last.data_at, first.data_at),
            ("m2", ONE, first.data_at, None),
        ]
        assert found[1].created_us == 5
        tip = (await record_of(store)).tip_position
        assert tip is not None
        assert await store.list_data(ADA, "s", tip, limit=1) == found[:1]
        assert first.data_at is not None
        assert await store.list_data(ADA, "s", first.data_at) == found[1:]
        m3 = await message_in(store, "m3")
        assert await store.read_data(ADA, "s", m3.position) == found[1]
        m1 = await message_in(store, "m1")
        assert await store.read_data(ADA, "s", m1.position) is None
        assert await store.list_data(ADA, "s", m1.position) == []

    async def test_data_is_that_of_the_place(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2")], data=ONE)
        await store.append(ADA, "s", [say("m3")], data=TWO)
        for place, value in (("m1", None), ("m2", ONE), (ROOT, None), ("m3", TWO)):
            await store.checkout(ADA, "s", place)
            assert await held(store) == value
        await store.append(ADA, "s", [say("other")], parent="m1")
        assert await held(store) is None
        await store.append(ADA, "s", [say("beside m3")], parent="m2")
        assert await held(store) == ONE
        await grow(store, "after")
        assert await held(store) == ONE
        await mark(store, {"n": 3})
        await store.checkout(ADA, "s", "m3")
        assert await held(store) == TWO

    async def test_data_is_a_json_object_as_it_was_given(self, store: AsyncStore) -> None:
        value = {"z": [1, 2.5, None, {"é": "部署"}], "a": {"b": True}, "": ""}
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")], data=value)
        assert await held(store) == value
        await mark(store, {})
        assert await held(store) == {}

    async def test_an_update_leaves_data(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        done = await store.append(ADA, "s", [say("m2")], data=ONE)
        updated = await store.update_message(ADA, "s", say("m2", "new"))
        assert updated.message.data_at == done.data_at
        assert await held(store) == ONE
        again = await store.append(ADA, "s", [say("m2")], data=ONE)
        assert (again.written, again.data_at) == (0, done.data_at)

    @pytest.mark.parametrize("data", [None, TWO, {}, {"n": 1, "x": None}])
    async def test_rule_02_a_retry_with_other_data_is_a_conflict(
        self, store: AsyncStore, data: dict[str, Any] | None
    ) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2")], data={"n": 1, "deep": {"a": 1, "b": 2}})
        same = await store.append(ADA, "s", [say("m2")], data={"deep": {"b": 2, "a": 1}, "n": 1})
        assert (same.written, ids_of(same.messages), same.known) == (0, ["m2"], ["m2"])
        before = await state_of(store)
        for batch in ([say("m2")], [say("m2"), say("m3")]):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", batch, data=data)
        assert await state_of(store) == before

    async def test_rule_02_data_for_what_had_none_is_a_conflict(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m2", tokens=1)], data=ONE)
        assert await held(store) is None

    async def test_data_of_a_batch_is_of_its_last_message(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        done = await store.append(ADA, "s", [say("m1", tokens=1), say("m2")], data=ONE)
        assert (done.written, done.data_at) == (1, done.messages[1].position)
        again = await store.append(ADA, "s", [say("m1", tokens=1), say("m2")], data=ONE)
        assert (again.written, again.data_at) == (0, done.data_at)
        skipped = await store.append(ADA, "s", [say("m3"), say("m2")], data=ONE, on_known="skip")
        assert (skipped.written, skipped.data_at) == (1, done.data_at)

    async def test_expected_data_guards_what_is_appended(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        first = (await mark(store, ONE, id="k1", expected_data=ROOT)).data_at
        second = (await mark(store, TWO, id="k2", expected_data=first)).data_at
        before = await state_of(store)
        for expected in (ROOT, first, Position("nobody's", 1)):
            for batch, data in (([say("x")], None), ([], ONE), ([say("x"), say("y")], ONE)):
                with pytest.raises(StaleVersionError):
                    await store.append(ADA, "s", batch, data=data, expected_data=expected)
        assert await state_of(store) == before
        # What is known is looked up before.
        assert (await mark(store, TWO, id="k2", expected_data=first)).written == 0
        await store.append(ADA, "s", [say("x")], expected_data=second)
        await store.append(ADA, "s", [say("y")], parent="m1", expected_data=ROOT)

    async def test_a_fork_has_the_data_of_its_path(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2")], data=ONE)
        await store.append(ADA, "s", [say("m3")], data=TWO)
        fork = await store.create_session(ADA, fork_of("s", "m2"))
        assert fork.data_at == (await message_in(store, "m2")).data_at
        await grow(store, "f1", session="fork")
        assert await held(store, "fork") == ONE
        await mark(store, {"fork": 1}, "fork")
        assert [it.value for it in await chain(store, "fork")] == [{"fork": 1}, ONE]
        assert await held(store) == TWO
        m3 = await message_in(store, "m3")
        with pytest.raises(NotFoundError):
            await store.read_data(ADA, "fork", m3.position)
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert [it.value for it in await chain(store, "fork")] == [{"fork": 1}, ONE]
        assert await store.admin.check() == []

    async def test_a_fork_of_a_fork_has_the_data_of_its_path(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")], data=ONE)
        await store.create_session(ADA, fork_of("s", id="f1"))
        await store.create_session(ADA, fork_of("f1", id="f2"))
        assert await held(store, "f2") == ONE
        await grow(store, "a", session="f2")
        await store.create_session(ADA, fork_of("f2", id="f3"))
        await grow(store, "b", session="f3")
        assert await held(store, "f3") == ONE
        await mark(store, TWO, "f3")
        assert [it.value for it in await chain(store, "f3")] == [TWO, ONE]

    async def test_a_detached_fork_takes_the_versions_along(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2")], data=ONE)
        await mark(store, TWO, id="k")
        await store.append(ADA, "s", [say("m3")], parent="m2")
        await store.append(ADA, "s", [say("m4")], parent="k", data={"n": 4})
        await store.delete_messages(ADA, "s", ["m2"])
        await store.create_session(ADA, fork_of("s", detach=True))
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        found = [(it.id, it.value, it.position.depth) for it in await chain(store, "fork")]
        assert found == [("m4", {"n": 4}, 4), ("k", TWO, 3), ("m2", ONE, 2)]
        assert await shown_in(store, "fork") == ["m1", "m4"]
        assert (await record_of(store, "fork")).messages == 2
        assert [gap.id for gap in await store.list_gaps(ADA, "fork", "m4")] == ["m2"]
        await store.checkout(ADA, "fork", "k")
        assert await held(store, "fork") == TWO
        assert (await mark(store, TWO, "fork", id="k")).written == 0
        assert await store.admin.check() == []

    async def test_a_deleted_message_leaves_its_data(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        done = await store.append(ADA, "s", [say("m2")], data=ONE)
        deleted = await store.delete_messages(ADA, "s", ["m1", "m2"])
        assert deleted.data == [done.data_at]
        assert await held(store) == ONE
        [version] = await chain(store)
        assert version.id == "m2"
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m2")], data=ONE)
        assert (await store.delete_messages(ADA, "s", ["m2"])).data == []
        await store.finish_deletions()
        assert await held(store) == ONE
        assert await store.admin.check() == []

    @pytest.mark.parametrize("keep", [False, True])
    async def test_a_clear_keeps_data_when_it_is_asked_to(
        self, store: AsyncStore, keep: bool
    ) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await mark(store, {"n": 0}, id="k")
        await store.append(ADA, "s", [say("m1")], data=ONE)
        old = (await record_of(store)).tip_position
        assert old is not None
        cleared = await store.clear_session(ADA, "s", keep_data=keep)
        assert cleared == await record_of(store)
        assert (cleared.messages, cleared.context_tokens, cleared.version) == (0, 0, 2)
        assert await held(store) == (ONE if keep else None)
        assert [it.value for it in await chain(store)] == ([ONE] if keep else [])
        assert (cleared.tip is ROOT) == (not keep)
        with pytest.raises(NotFoundError):
            await store.read_data(ADA, "s", old)
        await grow(store, "m1")
        await mark(store, TWO, id="k")
        await store.finish_deletions()
        assert [it.value for it in await chain(store)] == [TWO, ONE] if keep else [TWO]
        assert await shown_in(store) == ["m1"]
        assert await store.admin.check() == []

    async def test_a_clear_without_data_keeps_none(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        cleared = await store.clear_session(ADA, "s", keep_data=True)
        assert (cleared.tip, cleared.data_at) == (ROOT, None)

    async def test_a_cleared_session_is_told_once(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await mark(store, ONE)
        await store.clear_session(ADA, "s", keep_data=True)
        changes = (await store.changes(ADA)).changes
        assert [it.kind for it in changes].count(ChangeKind.RETIRE) == 1
        assert {it.message for it in changes} <= {"m1", None}

    async def test_data_counts_in_the_size_limit(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        large = {"x": "x" * store.max_message_bytes}
        for batch in ([], [say("m2")]):
            with pytest.raises(MessageTooLargeError):
                await store.append(ADA, "s", batch, data=large)
        assert await shown_in(store) == ["m1"]

    async def test_a_position_that_is_not_seen_is_not_found(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        done = await mark(store, ONE)
        # A position names a place in a tree: one of another tree may be named alike.
        await store.create_session(ADA, fork_of("s", ROOT, id="other"))
        await grow(store, "o1", session="other")
        at = done.data_at
        strange = [
            Position(at.segment, at.depth + 1),
            Position(at.segment + "0", at.depth),
            Position("x", 1),
            Position(" 1", 1),
            Position("9" * 30, 1),
            Position(at.segment, 2**40),
        ]
        for position in strange:
            with pytest.raises(NotFoundError):
                await store.read_data(ADA, "s", position)
        with pytest.raises(NotFoundError):
            await store.read_data(ADA, "other", at)
        with pytest.raises(NotFoundError):
            await store.list_data(ADA, "nobody", at)

    async def test_many_versions_are_read_and_held(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        for n in range(70):
            await mark(store, {"n": n})
        assert [it.value["n"] for it in await chain(store)] == list(range(69, -1, -1))
        assert await held(store) == {"n": 69}
        record = await record_of(store)
        assert (record.messages, record.context_tokens) == (0, 0)
