"""Documents as a map in the order of their keys: long keys, when each was first put, pages."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import LeaseLostError
from ...model import DocumentDelete, DocumentPut, Fence
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow
from .documents import SCOPES

LONGEST = ["k" * 1024, "é" * 512, "\U0010ffff" * 256]


class AsyncDocumentMapContract(AsyncContractBase):
    """Keys are 1 to 1,024 bytes and have an order; a document knows when it was first put."""

    @SCOPES
    async def test_keys_up_to_1024_bytes_are_taken(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        for key in LONGEST:
            put = await store.put_document(ADA, key, b"v", session=session)
            assert await store.find_document(ADA, key, session=session) == put
            assert await store.list_documents(ADA, key, session=session) == [put]
        listed = await store.list_documents(ADA, session=session, after=LONGEST[0])
        assert [it.key for it in listed] == LONGEST[1:]
        for key in LONGEST[:2]:
            assert await store.delete_document(ADA, key, session=session) is True
        assert await store.delete_documents(ADA, LONGEST[2], session=session) == 1
        assert await store.list_documents(ADA, session=session) == []

    async def test_long_keys_that_differ_in_their_last_byte_are_two(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        one, other = "k" * 1023 + "a", "k" * 1023 + "b"
        for session in (None, "s"):
            await store.put_document(ADA, one, b"1", session=session)
            await store.put_document(ADA, other, b"2", session=session)
            found = await store.list_documents(ADA, session=session)
            assert [(it.key, it.value) for it in found] == [(one, b"1"), (other, b"2")]
        await store.create_session(ADA, fork_of("s"))
        found = await store.list_documents(ADA, session="fork")
        assert [(it.key, it.value) for it in found] == [(one, b"1"), (other, b"2")]

    async def test_a_long_key_may_come_along_and_be_a_fence(self, store: AsyncStore) -> None:
        await grow(store)
        key = LONGEST[1]
        done = await store.append(
            ADA, "s", [say("m1")], documents=[DocumentPut(key=key, value=b"1")]
        )
        fence = Fence(key=key, version=done.documents[key])
        await store.append(ADA, "s", [say("m2")], fence=fence)
        await store.put_documents(ADA, "s", [DocumentDelete(key=key)], fence=fence)
        with pytest.raises(LeaseLostError):
            await store.append(ADA, "s", [say("m3")], fence=fence)

    @SCOPES
    async def test_a_replacement_keeps_when_a_document_was_first_put(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        first = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=60)
        assert first.created_us == first.updated_us
        for life in (60, None):
            clock.advance(0.01)
            put = await store.put_document(ADA, "k", b"2", session=session, expires_in_s=life)
            assert put.created_us == first.created_us < put.updated_us
            assert await store.find_document(ADA, "k", session=session) == put
            assert await store.list_documents(ADA, session=session) == [put]

    @SCOPES
    async def test_a_document_that_is_put_after_it_was_deleted_begins_anew(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        first = await store.put_document(ADA, "k", b"1", session=session)
        await store.delete_document(ADA, "k", session=session)
        clock.advance(0.01)
        again = await store.put_document(ADA, "k", b"2", session=session)
        assert first.created_us < again.created_us == again.updated_us

    @SCOPES
    async def test_a_document_that_is_put_after_it_expired_begins_anew(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        first = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=0.5)
        clock.advance(1)
        taken = await store.put_document(
            ADA, "k", b"2", session=session, expires_in_s=0.5, expected_version=first.version
        )
        assert first.created_us < taken.created_us == taken.updated_us
        clock.advance(1)
        kept = await store.renew_document(
            ADA, "k", session=session, expected_version=taken.version, expires_in_s=60
        )
        assert kept.created_us == taken.created_us

    async def test_what_comes_along_keeps_when_it_was_first_put(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store)
        new = [DocumentPut(key=key, value=b"1") for key in ("a", "b")]
        lease = DocumentPut(key="lease", value=b"1", expires_in_s=0.5)
        await store.append(ADA, "s", [say("m1")], documents=[*new, lease])
        first = {it.key: it for it in await store.list_documents(ADA, session="s")}
        clock.advance(1)
        await store.append(ADA, "s", [say("m2")], documents=[new[0], lease])
        await store.update_message(ADA, "s", say("m2", "x"), documents=[new[1]])
        found = {it.key: it for it in await store.list_documents(ADA, session="s")}
        for key in "ab":
            assert found[key].created_us == first[key].created_us < found[key].updated_us
        assert found["lease"].created_us == found["lease"].updated_us
        clock.advance(0.01)
        await store.append(ADA, "s", [say("m3")], documents=[*new])
        for it in await store.list_documents(ADA, session="s"):
            assert it.key == "lease" or it.created_us == first[it.key].created_us

    @pytest.mark.parametrize("detach", [False, True])
    async def test_a_forks_copy_keeps_when_it_was_first_put(
        self, store: AsyncStore, clock: Clock, detach: bool
    ) -> None:
        await grow(store, "m1")
        for value in (b"1", b"2"):
            put = await store.put_document(ADA, "k", value, session="s")
            clock.advance(0.01)
        once = await store.put_document(ADA, "once", b"", session="s")
        clock.advance(0.01)
        await store.create_session(ADA, fork_of("s", detach=detach))
        copies = await store.list_documents(ADA, session="fork")
        kept = [(it.key, it.created_us, it.updated_us) for it in (put, once)]
        assert [(it.key, it.created_us, it.updated_us) for it in copies] == kept
        replaced = await store.put_document(ADA, "k", b"3", session="fork")
        assert replaced.created_us == put.created_us

    @SCOPES
    async def test_pages_in_either_order_have_all_documents_once(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        keys = [f"a/{n:02}" for n in range(25)]
        for n, key in enumerate([*keys, "b", "a", "a0"]):
            life = 0.5 if n % 5 == 3 else None
            await store.put_document(ADA, key, key.encode(), session=session, expires_in_s=life)
        for key in keys[::7]:
            await store.delete_document(ADA, key, session=session)
        clock.advance(1)
        left = [key for n, key in enumerate(keys) if n % 7 and n % 5 != 3]
        for reverse in (False, True):
            seen, asked = list[str](), dict[str, Any]()
            while page := await store.list_documents(
                ADA, "a/", session=session, limit=4, reverse=reverse, values=False, **asked
            ):
                seen += [it.key for it in page]
                asked = {"after": seen[-1]}
            assert seen == (left[::-1] if reverse else left)
        assert await store.delete_documents(ADA, "a/", session=session) == len(left)
        assert [it.key for it in await store.list_documents(ADA, session=session)] == [
            "a",
            "a0",
            "b",
        ]
