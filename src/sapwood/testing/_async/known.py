"""Messages that are stored already, and messages that were made from what was read."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ...errors import AlreadyExistsError, ConflictError, MessageConflictError, UsageError
from ...model import ROOT, DocumentPut
from ...store import AsyncStore
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow, history_of, shown_in, state_of


class AsyncKnownContract(AsyncContractBase):
    """What an append says of messages that are stored already, and of what they followed."""

    async def test_what_is_known_is_refused_where_that_is_asked_for(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2"), say("m3")], on_known="raise")
        before = await state_of(store)
        for batch in ([say("m3")], [say("m4"), say("m2")]):
            with pytest.raises(AlreadyExistsError):
                await store.append(ADA, "s", batch, on_known="raise")
        assert await state_of(store) == before

    async def test_what_is_known_is_passed_over_where_that_is_asked_for(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        batch = [say("x"), say("m2", tokens=1), say("y"), say("m1", tokens=1)]
        done = await store.append(ADA, "s", batch, on_known="skip")
        assert [it.id for it in done.messages] == ["x", "m2", "y", "m1"]
        assert (done.written, sorted(done.known), done.tip) == (2, ["m1", "m2"], "y")
        assert await shown_in(store) == ["m1", "m2", "x", "y"]
        again = await store.append(ADA, "s", batch, on_known="skip", expected_tip="m1")
        assert (again.written, len(again.known), again.tip) == (0, 4, "y")
        other = await store.append(ADA, "s", [*batch, say("z")], parent="m1", on_known="skip")
        assert (other.written, other.tip) == (1, "z")
        assert await shown_in(store) == ["m1", "z"]
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("w"), say("m1", "other")], on_known="skip")
        assert await shown_in(store) == ["m1", "z"]

    async def test_an_answer_tells_what_is_known_and_not_on_the_path(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        retry = partial(store.append, ADA, "s", [say("m2", tokens=1), say("m3", tokens=1)])
        done = await retry()
        assert (done.known, done.elsewhere) == (["m2", "m3"], [])
        await store.checkout(ADA, "s", "m2")
        assert (await retry()).elsewhere == ["m3"]
        await store.checkout(ADA, "s", ROOT)
        assert (await retry()).elsewhere == ["m2", "m3"]
        new = await store.append(ADA, "s", [say("m2", tokens=1), say("new")])
        assert (new.written, new.known, new.elsewhere) == (1, ["m2"], ["m2"])
        fresh = await store.append(ADA, "s", [say("m4")])
        assert (fresh.known, fresh.elsewhere) == ([], [])

    async def test_a_fork_is_told_of_what_it_inherited_elsewhere(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.create_session(ADA, fork_of("s", "m3"))
        await store.checkout(ADA, "fork", "m1")
        done = await store.append(ADA, "fork", [say("m2", tokens=1)])
        assert (done.known, done.elsewhere) == (["m2"], ["m2"])

    async def test_what_was_made_from_a_snapshot_is_refused_when_its_path_changed(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.append(ADA, "s", [say("x")], parent="m1")
        await store.checkout(ADA, "s", "m3")
        snapshot = (await history_of(store)).snapshot
        await store.update_message(ADA, "s", say("x", "beside the path"))
        await store.append(ADA, "s", [say("m4")])
        append = partial(store.append, ADA, "s", expected_snapshot=snapshot)
        await append([say("m5")])
        await store.update_message(ADA, "s", say("m1", "changed"))
        before = await state_of(store)
        put = DocumentPut(key="k", value=b"")
        others: list[dict[str, Any]] = [{}, {"parent": "m2"}, {"documents": [put]}]
        for options in others:
            with pytest.raises(ConflictError):
                await append([say("late")], **options)
        assert await state_of(store) == before
        assert (await append([say("m5")])).written == 0
        await append([say("root")], parent=ROOT)
        now = (await history_of(store)).snapshot
        await store.append(ADA, "s", [say("m6")], parent="m5", expected_snapshot=now)
        await store.delete_messages(ADA, "s", ["m2"])
        with pytest.raises(ConflictError):
            await store.append(ADA, "s", [say("m7")], expected_snapshot=now)
        for parent in ("m6", ROOT):
            with pytest.raises(UsageError):
                await store.append(
                    ADA, "s", [say("m7")], parent=parent, expected_snapshot="none of ours"
                )
