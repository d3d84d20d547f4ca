"""A name tells several speakers of one role apart; a digest may be given for what is said."""

from __future__ import annotations

import pytest

from ...errors import MessageConflictError, StaleTipError
from ...model import ROOT, DocumentPut, Search
from ...store import AsyncStore
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow, history_of, message_in, shown_in, state_of

SEALED = bytes(range(32))


class AsyncNameContract(AsyncContractBase):
    """A speaker's name is part of what is said: kept, compared and replaced with it."""

    async def test_a_name_comes_back_wherever_the_message_does(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        [said] = (await store.append(ADA, "s", [say("m2", name="Ann é")])).messages
        assert said.name == "Ann é"
        assert await message_in(store, "m2") == said
        assert (await history_of(store)).messages_only[-1] == said
        assert await store.list_children(ADA, "s", "m1") == [said]
        [leaf] = await store.list_leaves(ADA, "s")
        assert leaf.message == said
        assert (await message_in(store, "m1")).name is None

    async def test_rule_02_a_name_is_compared(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2", name="Ann")])
        assert (await store.append(ADA, "s", [say("m2", name="Ann")])).written == 0
        for other in (say("m2", name="Bob"), say("m2"), say("m1", name="Ann")):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [other])

    async def test_an_update_replaces_the_name(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1", name="Ann", extra={"k": 1})])
        for name in ("Bob", None):
            updated = (await store.update_message(ADA, "s", say("m1", "new", name=name))).message
            assert (updated.name, updated.extra) == (name, {"k": 1})
            assert await message_in(store, "m1") == updated
        assert (await store.append(ADA, "s", [say("m1", name="Ann")])).written == 0

    async def test_a_name_is_copied_and_neither_counted_nor_found(self, store: AsyncStore) -> None:
        [plain] = await grow(store, "m1")
        await store.append(ADA, "s", [say("m2", "m1", name="lighthouse", tokens=None)])
        assert (await store.search(ADA, Search(text="lighthouse"))).hits == []
        unnamed = (await store.append(ADA, "s", [say("m3", "m1", tokens=None)])).messages[0]
        assert (await message_in(store, "m2")).tokens == unnamed.tokens
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        assert (await message_in(store, "m2", "copy")).name == "lighthouse"
        assert (await message_in(store, "m1", "copy")).name is None
        assert plain.name is None


class AsyncDigestContract(AsyncContractBase):
    """What a repeated append is compared by may be given, and stands in place of the content."""

    async def test_rule_02_a_given_digest_is_what_is_compared(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        first = say("m2", "sealed in one way", digest=SEALED)
        await store.append(ADA, "s", [first])
        again = await store.append(ADA, "s", [say("m2", "sealed in another", digest=SEALED)])
        assert (again.written, again.known) == (0, ["m2"])
        assert again.messages[0].text == "sealed in one way"
        for other in (say("m2", "sealed in one way"), say("m2", digest=b"other")):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [other])
        assert await shown_in(store) == ["m1", "m2"]

    async def test_a_digest_is_not_taken_for_that_of_what_was_said_without_one(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m1", digest=SEALED)])

    async def test_digests_are_kept_however_messages_are_appended(self, store: AsyncStore) -> None:
        await grow(store)
        put = [DocumentPut(key="k", value=b"v")]
        await store.append(ADA, "s", [say("m1", digest=b"1")], expected_tip=ROOT)
        await store.append(ADA, "s", [say("m2"), say("m3", digest=b"3"), say("m4", digest=b"4")])
        await store.append(ADA, "s", [say("m5", digest=b"5")], documents=put)
        await store.append(ADA, "s", [say("m6", digest=b"6")], parent="m1")
        await store.append(ADA, "s", [say("m6", digest=b"6"), say("m7", digest=b"7")])
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("m8", digest=b"8")], expected_tip="m1")
        await store.append(ADA, "s", [say("m8", digest=b"8")], on_known="skip")
        snapshot = (await history_of(store)).snapshot
        await store.append(ADA, "s", [say("m9", digest=b"9")], expected_snapshot=snapshot)
        before = await state_of(store)
        for n in (1, 3, 4, 5, 6, 7, 8, 9):
            digest = str(n).encode()
            assert (await store.append(ADA, "s", [say(f"m{n}", "x", digest=digest)])).written == 0
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [say(f"m{n}", digest=digest * 2)])
        assert (await store.append(ADA, "s", [say("m2")])).written == 0
        assert await state_of(store) == before

    async def test_a_digest_outlives_updates_and_goes_into_copies(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1", digest=SEALED), say("m2", digest=b"2")])
        await store.update_message(ADA, "s", say("m1", "new"))
        await store.create_session(ADA, fork_of("s"))
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        for session in ("s", "fork", "copy"):
            for id, digest in (("m1", SEALED), ("m2", b"2")):
                again = await store.append(ADA, session, [say(id, "x", digest=digest)])
                assert again.written == 0
                with pytest.raises(MessageConflictError):
                    await store.append(ADA, session, [say(id)])

    async def test_a_deleted_message_conflicts_whatever_its_digest(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say("m1", digest=SEALED)])
        await store.delete_messages(ADA, "s", ["m1"])
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m1", digest=SEALED)])

    async def test_sums_and_snapshots_are_as_without_digests(self, store: AsyncStore) -> None:
        await grow(store, "m1", tokens=5)
        await store.append(ADA, "s", [say("m2", tokens=7, digest=SEALED)])
        await store.append(ADA, "s", [say("m3", tokens=1, digest=b"3")])
        history = await history_of(store)
        await store.update_message(ADA, "s", say("m1", "new", tokens=2))
        assert (await history_of(store)).context_tokens == 10
        assert (await history_of(store, leaf="m2")).context_tokens == 9
        assert history.context_tokens == 13
