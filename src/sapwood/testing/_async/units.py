"""One unit of work: what comes along with a write is done with it, or nothing is."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from ...errors import (
    LeaseLostError,
    SessionClosedError,
    StaleTipError,
    StaleVersionError,
)
from ...model import (
    Document,
    DocumentDelete,
    DocumentPut,
    Fence,
    NewSession,
    SessionPatch,
)
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncCall, AsyncTwin
from .base import (
    AsyncContractBase,
    grow,
    history_of,
    record_of,
    shown_in,
    state_of,
)

PUT = DocumentPut(key="k", value=b"new")
LOST = Fence(key="lease", version=1)

WRITES: dict[str, Any] = {
    "append": lambda s, **extras: s.append(ADA, "s", [say("new")], **extras),
    "append of a batch": lambda s, **extras: s.append(ADA, "s", [say("n1"), say("n2")], **extras),
    "append after a message": lambda s, **extras: s.append(
        ADA, "s", [say("new")], parent="m1", **extras
    ),
    "append of what is known in part": lambda s, **extras: s.append(
        ADA, "s", [say("m2", tokens=1), say("new")], **extras
    ),
    "update_message": lambda s, **extras: s.update_message(ADA, "s", say("m1", "new"), **extras),
    "update_session": lambda s, **extras: s.update_session(
        ADA, "s", extras.pop("patch", SessionPatch()), **extras
    ),
}
"""The writes that others may come along with, of a session with the messages m1 and m2."""
EACH_WRITE = pytest.mark.parametrize("write", WRITES)

FENCED: dict[str, AsyncCall] = {
    "checkout": lambda s, o, n: s.checkout(o, n, "m1", fence=LOST),
    "delete_messages": lambda s, o, n: s.delete_messages(o, n, ["m1"], fence=LOST),
    "add_overlay": lambda s, o, n: s.add_overlay(o, n, cover("m1", "m1"), fence=LOST),
    "undo_overlay": lambda s, o, n: s.undo_overlay(o, n, "o", fence=LOST),
    "put_documents": lambda s, o, n: s.put_documents(o, n, [PUT], fence=LOST),
}


async def stored(store: AsyncStore, key: str, session: str = "s") -> Document | None:
    """Return a session's document."""
    return await store.find_document(ADA, key, session=session)


class AsyncUnitContract(AsyncContractBase):
    """Documents and a patch come along with an append, an update, or by themselves."""

    @EACH_WRITE
    async def test_documents_and_a_patch_come_along_with_a_write(
        self, store: AsyncStore, write: str
    ) -> None:
        await grow(store, "m1", "m2")
        old = await store.put_document(ADA, "old", b"1", session="s")
        done = await WRITES[write](
            store,
            documents=[
                PUT,
                DocumentPut(key="old", value=b"2", expected_version=old.version),
                DocumentPut(key="lease", value=b"", expected_version=0, expires_in_s=60),
                DocumentDelete(key="none"),
            ],
            patch=SessionPatch(title="t", tags=["x"]),
        )
        found = {key: await stored(store, key) for key in ("k", "old", "lease")}
        assert {key: it and it.value for key, it in found.items()} == {
            "k": b"new",
            "old": b"2",
            "lease": b"",
        }
        versions = {key: it.version for key, it in found.items() if it is not None}
        assert done.documents == {**versions, "none": 0}
        assert versions["old"] > old.version
        assert found["lease"] is not None and found["lease"].expires_us is not None
        record = await record_of(store)
        assert (record.title, record.tags, record.version) == ("t", ["x"], 2)

    @EACH_WRITE
    async def test_a_write_whose_guard_fails_does_nothing(
        self, store: AsyncStore, write: str
    ) -> None:
        await grow(store, "m1", "m2")
        there = await store.put_document(ADA, "there", b"1", session="s")
        guards: list[tuple[dict[str, Any], type[Exception]]] = [
            ({"fence": LOST}, LeaseLostError),
            ({"fence": Fence(key="there", version=there.version + 1)}, LeaseLostError),
            ({"expected_version": 7}, StaleVersionError),
            ({"expected_tip": "m1"}, StaleTipError),
        ]
        before = await state_of(store)
        for guard, error in guards:
            if write == "append of what is known in part" and error is StaleTipError:
                continue  # what it expects is the last that is known
            with pytest.raises(error):
                await WRITES[write](store, documents=[PUT], patch=SessionPatch(title="t"), **guard)
            assert await state_of(store) == before

    @EACH_WRITE
    async def test_a_document_at_another_version_takes_nothing_along(
        self, store: AsyncStore, write: str
    ) -> None:
        await grow(store, "m1", "m2")
        there = await store.put_document(ADA, "there", b"1", session="s")
        wrong = [
            DocumentPut(key="there", value=b"2", expected_version=0),
            DocumentPut(key="there", value=b"2", expected_version=there.version + 1),
            DocumentPut(key="none", value=b"2", expected_version=1),
            DocumentDelete(key="there", expected_version=there.version + 1),
            DocumentDelete(key="there", expected_version=0),
        ]
        before = await state_of(store)
        for change in wrong:
            with pytest.raises(StaleVersionError):
                await WRITES[write](store, documents=[PUT, change], patch=SessionPatch(title="t"))
            assert await state_of(store) == before

    @EACH_WRITE
    async def test_a_write_whose_guards_hold_is_done(self, store: AsyncStore, write: str) -> None:
        await grow(store, "m1", "m2")
        one = await store.put_document(ADA, "one", b"", session="s")
        two = await store.put_document(ADA, "two", b"", session="s", expires_in_s=60)
        done = await WRITES[write](
            store,
            fence=[Fence(key=it.key, version=it.version) for it in (one, two)],
            expected_version=1,
            expected_tip="m2",
            documents=[
                DocumentPut(key="one", value=b"1", expected_version=one.version),
                DocumentDelete(key="two", expected_version=two.version),
            ],
        )
        found = await stored(store, "one")
        assert found is not None and found.value == b"1"
        assert await stored(store, "two") is None
        assert done.documents == {"one": found.version, "two": 0}

    async def test_an_append_whose_messages_are_known_does_nothing_again(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        lease = await store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
        call = partial(
            store.append,
            ADA,
            "s",
            [say("m2"), say("m3")],
            fence=Fence(key="lease", version=lease.version),
            expected_version=1,
            expected_tip="m1",
            documents=[
                DocumentPut(key="k", value=b"1", expected_version=0),
                DocumentDelete(key="lease", expected_version=lease.version),
            ],
            patch=SessionPatch(title="t"),
        )
        first = await call()
        assert first.written == 2
        before = await state_of(store)
        again = await call()
        assert (again.written, again.messages) == (0, first.messages)
        assert again.documents == first.documents
        assert await state_of(store) == before
        other = await store.put_document(ADA, "k", b"2", session="s")
        assert (await call()).documents == {"k": other.version, "lease": 0}

    async def test_what_expires_comes_along_as_a_put_alone_does(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store, "m1")
        lease = DocumentPut(key="lease", value=b"1", expected_version=0, expires_in_s=2)
        await store.append(ADA, "s", [say("m2")], documents=[lease])
        with pytest.raises(StaleVersionError):
            await store.append(ADA, "s", [say("m3")], documents=[lease])
        with pytest.raises(StaleVersionError):
            release = DocumentDelete(key="lease", expected_version=0)
            await store.update_session(ADA, "s", SessionPatch(), documents=[release])
        clock.advance(3)
        await store.update_session(ADA, "s", SessionPatch(), documents=[release])
        await store.append(ADA, "s", [say("m3")], documents=[lease])
        assert await shown_in(store) == ["m1", "m2", "m3"]

    async def test_several_documents_are_put_at_once_or_none_is(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        old = await store.put_document(ADA, "old", b"", session="s")
        before = await record_of(store)
        versions = await store.put_documents(ADA, "s", [PUT, DocumentDelete(key="old")])
        found = await stored(store, "k")
        assert found is not None
        assert versions == {"k": found.version, "old": 0}
        assert await stored(store, "old") is None
        wrong = DocumentPut(key="old", value=b"", expected_version=old.version)
        with pytest.raises(StaleVersionError):
            await store.put_documents(ADA, "s", [DocumentDelete(key="k"), wrong])
        assert await stored(store, "k") == found
        assert await record_of(store) == before

    async def test_pins_that_come_along_are_counted(self, store: AsyncStore) -> None:
        await grow(store, *"123", tokens=10)
        await store.add_overlay(ADA, "s", cover("1", "2", tokens=1))
        pins = DocumentPut(key="pins", value=b'["1"]')
        await store.append(ADA, "s", [say("4", tokens=5)], documents=[pins])
        assert (await record_of(store)).context_tokens == 1 + 10 + 10 + 5
        assert (await history_of(store)).context_tokens == 1 + 10 + 10 + 5
        unpin = DocumentDelete(key="pins")
        await store.update_message(ADA, "s", say("3", tokens=2), documents=[unpin])
        assert (await record_of(store)).context_tokens == 1 + 2 + 5

    async def test_a_fork_takes_what_comes_along(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1"))
        done = await store.append(ADA, "fork", [say("f1")], documents=[PUT])
        found = await stored(store, "k", "fork")
        assert found is not None and done.documents == {"k": found.version}
        assert await stored(store, "k") is None
        assert await shown_in(store, "fork") == ["m1", "f1"]

    @pytest.mark.parametrize("detach", [False, True])
    async def test_what_is_not_inherited_stays_with_its_session(
        self, store: AsyncStore, detach: bool
    ) -> None:
        await grow(store, "m1")
        own = DocumentPut(key="own", value=b"", inherit=False)
        await store.append(ADA, "s", [say("m2")], documents=[own, PUT])
        alone = await store.put_document(ADA, "alone", b"", session="s", inherit=False)
        assert not alone.inherit
        await store.create_session(ADA, fork_of("s", detach=detach))
        kept = await store.list_documents(ADA, session="fork")
        assert [(it.key, it.inherit) for it in kept] == [("k", True)]
        there = [(it.key, it.inherit) for it in await store.list_documents(ADA, session="s")]
        assert there == [("alone", False), ("k", True), ("own", False)]
        await store.put_document(ADA, "alone", b"", session="s")
        await store.clear_session(ADA, "s")
        assert [it.key for it in await store.list_documents(ADA, session="s")] == ["alone", "k"]

    async def test_attributes_are_merged_field_by_field(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s", attributes={"a": {"x": 1}, "b": 2}))
        patch = SessionPatch(merge={"a": {"x": None, "y": [1]}, "b": None, "c": "é"})
        updated = await store.update_session(ADA, "s", patch)
        assert updated.record.attributes == {"a": {"y": [1]}, "c": "é"}
        await store.append(ADA, "s", [say("m1")], patch=SessionPatch(merge={"d": 1}))
        assert (await record_of(store)).attributes == {"a": {"y": [1]}, "c": "é", "d": 1}

    async def test_units_beside_each_other_all_land(self, store: AsyncStore) -> None:
        await grow(store)

        async def write(writer: int) -> None:
            for n in range(4):
                name = f"w{writer}-{n}"
                put = DocumentPut(key=name, value=b"", expected_version=0)
                patch = SessionPatch(merge={name: n})
                await store.append(ADA, "s", [say(name)], documents=[put], patch=patch)

        await AsyncTwin.together([partial(write, n) for n in range(4)])
        names = sorted(f"w{writer}-{n}" for writer in range(4) for n in range(4))
        assert sorted(await shown_in(store)) == names
        assert [it.key for it in await store.list_documents(ADA, session="s")] == names
        record = await record_of(store)
        assert sorted(record.attributes) == names
        assert record.version == 1 + len(names)


class AsyncFenceContract(AsyncContractBase):
    """A write that depends on a lease is refused exactly when that is somebody else's by then."""

    @pytest.mark.parametrize("call", FENCED)
    async def test_a_write_whose_fence_is_lost_does_nothing(
        self, store: AsyncStore, call: str
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
        before = await state_of(store)
        with pytest.raises(LeaseLostError):
            await FENCED[call](store, ADA, "s")
        assert await state_of(store) == before

    async def test_a_lease_that_expired_holds_until_another_takes_it(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store, "m1")
        lease = DocumentPut(key="lease", value=b"", expected_version=0, expires_in_s=1)
        done = await store.append(ADA, "s", [say("m2")], documents=[lease])
        fence = Fence(key="lease", version=done.documents["lease"])
        clock.advance(2)
        await store.append(ADA, "s", [say("m3")], fence=fence)
        await store.append(ADA, "s", [say("m4")], documents=[lease])
        with pytest.raises(LeaseLostError):
            await store.append(ADA, "s", [say("m5")], fence=fence)
        assert await shown_in(store) == ["m1", "m2", "m3", "m4"]

    async def test_a_lost_fence_is_told_before_anything_else(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.update_session(ADA, "s", SessionPatch(closed=True))
        stale = DocumentPut(key="k", value=b"", expected_version=7)
        wrong: dict[str, Any] = {"documents": [stale], "expected_version": 9}
        for fence, error in ((LOST, LeaseLostError), (None, StaleVersionError)):
            with pytest.raises(error):
                await store.append(ADA, "s", [say("x")], parent="nope", fence=fence, **wrong)
            with pytest.raises(error):
                await store.update_message(ADA, "s", say("m1", "x"), fence=fence, **wrong)
        with pytest.raises(SessionClosedError):
            await store.append(ADA, "s", [say("x")], parent="nope", documents=[stale])

    async def test_no_write_of_a_lost_fence_lands(self, store: AsyncStore) -> None:
        await grow(store, "m0")

        async def work(worker: int) -> list[str]:
            put = DocumentPut(key="lease", value=str(worker).encode())
            name = f"w{worker}"
            done = await store.append(ADA, "s", [say(name)], documents=[put])
            fence = Fence(key="lease", version=done.documents["lease"])
            told = [name]
            for n in range(5):
                try:
                    await store.append(ADA, "s", [say(f"{name}-{n}")], fence=fence)
                except LeaseLostError:
                    break
                told.append(f"{name}-{n}")
            return told

        told = await AsyncTwin.together([partial(work, n) for n in range(4)])
        shown = (await shown_in(store))[1:]
        assert sorted(shown) == sorted(id for ids in told for id in ids)
        # From where another took the lease, nothing of the one before is there.
        holders = [id.partition("-")[0] for id in shown]
        assert sum(a != b for a, b in pairwise(holders)) == 3
