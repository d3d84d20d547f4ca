"""Documents: keyed values with versions that are never used twice, and with an expiry."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import ConflictError, StaleVersionError, UsageError
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, fork_of
from .base import AsyncContractBase, grow, record_of

SCOPES = pytest.mark.parametrize("session", [None, "s"])


class AsyncDocumentContract(AsyncContractBase):
    """A document belongs to an owner or to a session."""

    @SCOPES
    async def test_a_document_is_found_as_it_was_put(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        for value in (b"", b"\x00\xff{", bytes(range(256)) * 40):
            put = await store.put_document(ADA, "k", value, session=session)
            assert (put.key, put.value, put.expires_us) == ("k", value, None)
            assert await store.find_document(ADA, "k", session=session) == put
            assert await store.list_documents(ADA, session=session) == [put]

    async def test_scopes_do_not_mix(self, store: AsyncStore) -> None:
        await grow(store)
        await grow(store, session="other")
        for scope in (None, "s", "other"):
            assert await store.find_document(ADA, "k", session=scope) is None
            await store.put_document(ADA, "k", str(scope).encode(), session=scope)
        for scope in (None, "s", "other"):
            found = await store.find_document(ADA, "k", session=scope)
            assert found is not None
            assert found.value == str(scope).encode()
        assert await store.delete_document(ADA, "k", session="s") is True
        assert await store.find_document(ADA, "k", session="other") is not None
        assert await store.find_document(ADA, "k") is not None

    @SCOPES
    async def test_a_version_is_never_used_twice(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        versions = [0]
        for n in range(9):
            life = 0.5 if n % 3 == 0 else None
            put = await store.put_document(ADA, "k", b"", session=session, expires_in_s=life)
            assert put.version > versions[-1]
            versions.append(put.version)
            if n % 3 == 0:
                clock.advance(1)
            if n % 3 == 1:
                await store.delete_document(ADA, "k", session=session)

    @SCOPES
    async def test_versions_rise_over_the_life_of_a_session(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        old = await store.put_document(ADA, "k", b"", session=session)
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        await grow(store)
        new = await store.put_document(ADA, "k", b"", session=session)
        assert new.version > old.version

    async def test_versions_rise_when_a_name_comes_back_as_a_fork(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.put_document(ADA, "k", b"", session="s")
        versions = [0]
        for detach in (True, False, True, False):
            await store.create_session(ADA, fork_of("s", detach=detach))
            copied = await store.find_document(ADA, "k", session="fork")
            assert copied is not None and copied.version > versions[-1]
            new = await store.put_document(ADA, "k", b"", session="fork")
            versions += [copied.version, new.version]
            await store.delete_session(ADA, "fork")
        assert versions == sorted(set(versions))

    @SCOPES
    async def test_an_expected_version_is_compared(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        with pytest.raises(StaleVersionError):
            await store.put_document(ADA, "k", b"0", session=session, expected_version=1)
        assert await store.find_document(ADA, "k", session=session) is None
        one = await store.put_document(ADA, "k", b"1", session=session, expected_version=0)
        for version in (0, one.version + 1):
            with pytest.raises(StaleVersionError):
                await store.put_document(ADA, "k", b"x", session=session, expected_version=version)
        assert await store.find_document(ADA, "k", session=session) == one
        two = await store.put_document(
            ADA, "k", b"2", session=session, expected_version=one.version
        )
        with pytest.raises(StaleVersionError):
            await store.delete_document(ADA, "k", session=session, expected_version=one.version)
        assert await store.delete_document(ADA, "k", session=session, expected_version=two.version)
        with pytest.raises(StaleVersionError):
            await store.delete_document(ADA, "k", session=session, expected_version=two.version)

    @SCOPES
    async def test_deleting_tells_whether_it_was_there(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        assert await store.delete_document(ADA, "k", session=session) is False
        await store.put_document(ADA, "k", b"", session=session)
        assert await store.delete_document(ADA, "k", session=session) is True
        assert await store.delete_document(ADA, "k", session=session) is False
        await store.put_document(ADA, "k", b"", session=session, expires_in_s=0.5)
        clock.advance(1)
        assert await store.delete_document(ADA, "k", session=session) is False

    @SCOPES
    async def test_an_expired_document_is_not_there(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=2)
        assert put.expires_us is not None
        assert put.expires_us - put.updated_us == 2_000_000
        clock.advance(1)
        assert await store.find_document(ADA, "k", session=session) == put
        with pytest.raises(StaleVersionError):
            await store.put_document(ADA, "k", b"2", session=session, expected_version=0)
        clock.advance(1.1)
        assert await store.find_document(ADA, "k", session=session) is None
        assert await store.list_documents(ADA, session=session) == []
        new = await store.put_document(
            ADA, "k", b"2", session=session, expected_version=0, expires_in_s=60
        )
        assert new.version > put.version

    async def test_pins_cannot_expire_and_are_inherited(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        with pytest.raises(UsageError) as caught:
            await store.put_document(ADA, "pins", b'["m1"]', session="s", expires_in_s=60)
        assert caught.value.path == "expires_in_s"
        with pytest.raises(UsageError) as caught:
            await store.put_document(ADA, "pins", b'["m1"]', session="s", inherit=False)
        assert caught.value.path == "inherit"
        assert await store.find_document(ADA, "pins", session="s") is None
        await store.put_document(ADA, "pins", b"any", expires_in_s=60)

    @SCOPES
    async def test_its_holder_may_renew_an_expired_document(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=0.5)
        clock.advance(1)
        renewed = await store.put_document(
            ADA, "k", b"1", session=session, expected_version=put.version, expires_in_s=60
        )
        assert renewed.version > put.version

    @SCOPES
    async def test_a_delete_at_version_0_takes_only_what_has_expired(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        at: dict[str, Any] = {"session": session, "expected_version": 0}
        assert await store.delete_document(ADA, "k", **at) is False
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=2)
        with pytest.raises(StaleVersionError):
            await store.delete_document(ADA, "k", **at)
        assert await store.find_document(ADA, "k", session=session) == put
        clock.advance(3)
        assert await store.delete_document(ADA, "k", **at) is False
        with pytest.raises(StaleVersionError):
            await store.renew_document(
                ADA, "k", session=session, expected_version=put.version, expires_in_s=60
            )

    @SCOPES
    async def test_a_renewed_document_expires_later_and_keeps_its_version(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=2)
        clock.advance(1)
        renewed = await store.renew_document(
            ADA, "k", session=session, expected_version=put.version, expires_in_s=60
        )
        assert put.expires_us is not None and renewed.expires_us is not None
        assert renewed.expires_us > put.expires_us + 50_000_000
        assert renewed == replace(put, expires_us=renewed.expires_us)
        clock.advance(2)
        assert await store.find_document(ADA, "k", session=session) == renewed
        with pytest.raises(StaleVersionError):
            await store.put_document(ADA, "k", b"2", session=session, expected_version=0)

    @SCOPES
    async def test_a_renewal_takes_no_time_away_and_gives_no_expiry(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=600)
        renewed = await store.renew_document(
            ADA, "k", session=session, expected_version=put.version, expires_in_s=1
        )
        assert renewed == put
        stays = await store.put_document(ADA, "k", b"2", session=session)
        with pytest.raises(ConflictError):
            await store.renew_document(
                ADA, "k", session=session, expected_version=stays.version, expires_in_s=60
            )
        assert await store.find_document(ADA, "k", session=session) == stays

    @SCOPES
    async def test_its_holder_may_renew_an_expired_document_by_itself(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=0.5)
        clock.advance(1)
        await store.renew_document(
            ADA, "k", session=session, expected_version=put.version, expires_in_s=60
        )
        found = await store.find_document(ADA, "k", session=session)
        assert found is not None and found.version == put.version

    @SCOPES
    async def test_a_document_that_somebody_else_took_is_not_renewed(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        mine = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=60)
        taken = await store.put_document(ADA, "k", b"2", session=session, expires_in_s=60)
        with pytest.raises(StaleVersionError):
            await store.renew_document(
                ADA, "k", session=session, expected_version=mine.version, expires_in_s=600
            )
        assert await store.find_document(ADA, "k", session=session) == taken
        await store.delete_document(ADA, "k", session=session)
        with pytest.raises(StaleVersionError):
            await store.renew_document(
                ADA, "k", session=session, expected_version=taken.version, expires_in_s=600
            )
        assert await store.find_document(ADA, "k", session=session) is None

    @SCOPES
    async def test_a_put_without_an_expiry_stays(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        await store.put_document(ADA, "k", b"1", session=session, expires_in_s=0.5)
        await store.put_document(ADA, "k", b"2", session=session)
        clock.advance(1)
        assert await store.find_document(ADA, "k", session=session) is not None

    @SCOPES
    async def test_documents_are_listed_from_a_key_on_so_many_in_either_order(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        for key in ("a", "b/1", "b/2", "b/3", "b/\U0010ffff", "b0", "c"):
            await store.put_document(ADA, key, key.encode(), session=session)
        await store.put_document(ADA, "b/0", b"", session=session, expires_in_s=0.5)
        clock.advance(1)

        async def keys(**asked: Any) -> list[str]:
            found = await store.list_documents(ADA, "b/", session=session, **asked)
            assert all(it.value == it.key.encode() for it in found)
            return [it.key for it in found]

        assert await keys(limit=2) == ["b/1", "b/2"]
        assert await keys(limit=2, after="b/1") == ["b/2", "b/3"]
        assert await keys(after="b/2") == ["b/3", "b/\U0010ffff"]
        assert await keys(after="b/25") == ["b/3", "b/\U0010ffff"]
        assert await keys(after="a", limit=1) == ["b/1"]
        assert await keys(after="c") == []
        assert await keys(reverse=True, limit=2) == ["b/\U0010ffff", "b/3"]
        assert await keys(reverse=True, after="b/3") == ["b/2", "b/1"]
        assert await keys(reverse=True, after="b/1") == []
        assert await keys(reverse=True, after="c", limit=1) == ["b/\U0010ffff"]
        assert await keys(reverse=True, after="a") == []

    @SCOPES
    async def test_documents_are_listed_without_their_values(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        put = await store.put_document(ADA, "k", b"large", session=session)
        found = await store.list_documents(ADA, session=session, values=False)
        assert found == [replace(put, value=b"")]
        assert await store.find_document(ADA, "k", session=session) == put

    @SCOPES
    async def test_documents_are_deleted_by_prefix(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        await grow(store)
        await store.put_document(ADA, "a/1", b"", session=session, expires_in_s=0.5)
        for key in ("a", "a/2", "a/3", "a0"):
            await store.put_document(ADA, key, b"", session=session)
        clock.advance(1)
        assert await store.delete_documents(ADA, "a/", session=session) == 2
        assert [it.key for it in await store.list_documents(ADA, session=session)] == ["a", "a0"]
        assert await store.delete_documents(ADA, "a/", session=session) == 0
        assert await store.delete_documents(ADA, "", session=session) == 2
        assert await store.list_documents(ADA, session=session) == []

    async def test_pins_that_are_deleted_by_prefix_are_counted_no_more(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123", tokens=10)
        await store.add_overlay(ADA, "s", cover("1", "2", tokens=1))
        await store.put_document(ADA, "pins", b'["1"]', session="s")
        assert (await record_of(store)).context_tokens == 21
        assert await store.delete_documents(ADA, "pin", session="s") == 1
        assert (await record_of(store)).context_tokens == 11

    @SCOPES
    async def test_documents_are_listed_by_prefix_and_in_order(
        self, store: AsyncStore, session: str | None
    ) -> None:
        await grow(store)
        keys = ["a", "a/1", "a/2", "a%", "a_", "aé", "b", "A/1", "\U0010ffff", "\ud7ff"]
        for key in reversed(keys):
            await store.put_document(ADA, key, key.encode(), session=session)
        for prefix in ("", "a", "a/", "a%", "_", "é", "aé", "b", "c", "\U0010ffff"):
            found = await store.list_documents(ADA, prefix, session=session)
            expected = sorted((k for k in keys if k.startswith(prefix)), key=str.encode)
            assert [document.key for document in found] == expected
