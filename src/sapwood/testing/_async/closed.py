"""Closed sessions, and what is kept beside a message."""

from __future__ import annotations

from functools import partial

import pytest

from ...errors import ConflictError, MessageTooLargeError, SessionClosedError
from ...model import DocumentPut, Search, SessionPatch, Usage
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncCall, AsyncTwin
from .base import (
    AsyncContractBase,
    grow,
    history_of,
    message_in,
    record_of,
    shown_in,
    state_of,
)

PUT = DocumentPut(key="k", value=b"new")

CLOSED: dict[str, AsyncCall] = {
    "append": lambda s, o, n: s.append(o, n, [say("new")]),
    "append of a batch": lambda s, o, n: s.append(o, n, [say("n1"), say("n2")]),
    "append after a message": lambda s, o, n: s.append(o, n, [say("new")], parent="m1"),
    "append with a document": lambda s, o, n: s.append(o, n, [say("new")], documents=[PUT]),
    "append of our own id": lambda s, o, n: s.append(o, n, [say(None, "new")]),
    "update_message": lambda s, o, n: s.update_message(o, n, say("m1", "new")),
    "checkout": lambda s, o, n: s.checkout(o, n, "m1"),
    "add_overlay": lambda s, o, n: s.add_overlay(o, n, cover("m1", "m1")),
    "undo_overlay": lambda s, o, n: s.undo_overlay(o, n, "o"),
}


class AsyncClosedContract(AsyncContractBase):
    """A closed session keeps what it has, and takes no more of it."""

    async def _close(self, store: AsyncStore, *ids: str) -> None:
        await grow(store, *ids)
        await store.update_session(ADA, "s", SessionPatch(closed=True))

    @pytest.mark.parametrize("call", CLOSED)
    async def test_a_closed_session_refuses_what_would_change_its_history(
        self, store: AsyncStore, call: str
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
        updated = await store.update_session(ADA, "s", SessionPatch(closed=True))
        assert (updated.record.closed, updated.record.version) == (True, 2)
        before = await state_of(store)
        with pytest.raises(SessionClosedError):
            await CLOSED[call](store, ADA, "s")
        assert await state_of(store) == before
        await store.update_session(ADA, "s", SessionPatch(closed=False))
        await CLOSED[call](store, ADA, "s")

    async def test_a_closed_session_takes_what_does_not_change_its_history(
        self, store: AsyncStore
    ) -> None:
        await self._close(store, "m1", "m2")
        await store.put_document(ADA, "k", b"", session="s")
        await store.put_documents(ADA, "s", [PUT])
        await store.add_usage(ADA, "s", Usage(id="u", input_tokens=1))
        await store.update_session(ADA, "s", SessionPatch(title="t"))
        await store.delete_messages(ADA, "s", ["m1"])
        assert await shown_in(store) == ["m2"]
        assert (await record_of(store)).closed
        assert (await store.clear_session(ADA, "s")).closed
        await store.delete_session(ADA, "s")

    @pytest.mark.parametrize("detach", [False, True])
    async def test_a_fork_of_a_closed_session_is_open(
        self, store: AsyncStore, detach: bool
    ) -> None:
        await self._close(store, "m1")
        fork = await store.create_session(ADA, fork_of("s", detach=detach))
        assert not fork.closed
        await store.append(ADA, "fork", [say("f1")])
        assert await shown_in(store, "fork") == ["m1", "f1"]
        assert (await record_of(store)).closed

    async def test_what_was_stored_before_the_closing_is_acknowledged(
        self, store: AsyncStore
    ) -> None:
        await self._close(store, "m1", "m2")
        again = await store.append(ADA, "s", [say("m2", tokens=1)])
        assert (again.written, again.messages[0].id) == (0, "m2")
        with pytest.raises(ConflictError):
            await store.append(ADA, "s", [say("m2", "other")])
        with pytest.raises(SessionClosedError):
            await store.append(ADA, "s", [say("m2", tokens=1), say("m3")])

    async def test_an_append_may_close_its_session(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2")], patch=SessionPatch(closed=True, state="ended"))
        with pytest.raises(SessionClosedError):
            await store.append(ADA, "s", [say("m3")])
        assert await shown_in(store) == ["m1", "m2"]

    async def test_nothing_is_acknowledged_after_the_closing(self, store: AsyncStore) -> None:
        await grow(store)

        async def write(writer: int) -> list[str]:
            told: list[str] = []
            for n in range(100):
                id = f"w{writer}-{n}"
                try:
                    await store.append(ADA, "s", [say(id)])
                except SessionClosedError:
                    return told
                told.append(id)
            return told

        async def close(_: int) -> list[str]:
            for _ in range(5):  # a read would not let others go on, on a store without a server
                await store.put_document(ADA, "k", b"", session="s")
            await store.update_session(ADA, "s", SessionPatch(closed=True))
            return await shown_in(store)

        jobs = [partial(job, n) for n, job in enumerate([write, write, write, close])]
        *written, closer = await AsyncTwin.together(jobs)
        told = sorted(id for ids in written for id in ids)
        assert sorted(closer) == sorted(await shown_in(store)) == told


class AsyncExtraContract(AsyncContractBase):
    """What is kept beside a message is no part of what it says."""

    async def test_extra_comes_back_and_is_not_compared_counted_or_found(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        extra = {"turn": {"id": "t1", "state": "open"}, "sent": ["lighthouse"]}
        [kept] = (await store.append(ADA, "s", [say("m2", "word", extra=extra)])).messages
        assert kept.extra == extra
        assert await message_in(store, "m2") == kept
        assert (await history_of(store)).messages_only[-1] == kept
        assert (await message_in(store, "m1")).extra == {}
        assert (await store.append(ADA, "s", [say("m2", "word")])).written == 0
        assert (await store.append(ADA, "s", [say("m2", "word", extra={"x": 1})])).written == 0
        assert await message_in(store, "m2") == kept
        [bare] = (await store.append(ADA, "s", [say("m3", "word")])).messages
        assert bare.tokens == kept.tokens
        assert (await store.search(ADA, Search(text="lighthouse"))).hits == []

    async def test_an_update_keeps_extra_unless_it_gives_another(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1", "one", extra={"a": 1}), say("m2")])
        for id, extra in (("m1", {"a": 1}), ("m2", {})):
            updated = await store.update_message(ADA, "s", say(id, "two"))
            assert updated.message.extra == extra
            assert await message_in(store, id) == updated.message
            updated = await store.update_message(ADA, "s", say(id, "two", extra={"b": 2}))
            assert updated.message.extra == {"b": 2}
        await store.update_message(ADA, "s", say("m1", "three", extra={}))
        assert (await message_in(store, "m1")).extra == {}
        assert (await store.append(ADA, "s", [say("m1", "one")])).written == 0

    async def test_an_update_that_keeps_extra_is_no_larger_than_a_message_may_be(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        half = "x" * (store.max_message_bytes * 5 // 8)
        await store.append(ADA, "s", [say("m1", extra={"k": half})])
        before = await state_of(store)
        with pytest.raises(MessageTooLargeError):
            await store.update_message(ADA, "s", say("m1", half))
        assert await state_of(store) == before
        await store.update_message(ADA, "s", say("m1", half, extra={}))

    async def test_extra_is_copied_and_erased_with_its_message(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1", extra={"a": 1})])
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        assert (await message_in(store, "m1", "copy")).extra == {"a": 1}
        await store.delete_messages(ADA, "s", ["m1"])
        assert await store.find_messages(ADA, "s", ["m1"]) == [None]
        assert (await message_in(store, "m1", "copy")).extra == {"a": 1}
