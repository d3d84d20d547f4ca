"""The store as a whole: its capabilities, its health, its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...errors import AlreadyExistsError, ClosedError, UnsupportedOperationError
from ...model import Read, SessionQuery
from ...store import AsyncStore, Capability
from ..makers import ADA, cover, fork_of, say
from .base import AsyncContractBase, grow, state_of
from .calls import SESSION_CALLS, furnish
from .data import AsyncDataContract
from .durability import AsyncDurableContract
from .shared import AsyncSharedContract


class AsyncAdminContract(AsyncContractBase):
    """What operators ask of a store."""

    async def test_what_is_declared_is_tested(self, store: AsyncStore) -> None:
        assert store.capabilities <= frozenset(Capability)
        if Capability.DURABLE in store.capabilities:
            assert isinstance(self, AsyncDurableContract), "inherit DurableStoreContract, too"
        if Capability.SHARED in store.capabilities:
            assert isinstance(self, AsyncSharedContract), "inherit SharedContract, too"
        if Capability.DATA in store.capabilities:
            assert isinstance(self, AsyncDataContract), "inherit DataStoreContract, too"

    async def test_a_healthy_store_says_so(self, store: AsyncStore) -> None:
        health = await store.admin.health()
        assert health.store
        assert health.version
        assert health.writable

    async def test_an_owner_who_has_nothing_left_is_not_listed(self, store: AsyncStore) -> None:
        await grow(store, "m1", owner="bob")
        await store.delete_session("bob", "s")
        await store.changes("carol", reader="r")
        await store.finish_deletions()
        assert await store.admin.list_owners() == []

    async def test_migrating_a_current_store_does_nothing(self, store: AsyncStore) -> None:
        await furnish(store)
        version = await store.admin.schema_version()
        assert await store.admin.migrate() == version
        assert await store.admin.schema_version() == version
        assert (await store.read(ADA, "s", Read())).tip == "m3"

    async def test_owners_are_those_that_have_something(self, store: AsyncStore) -> None:
        assert await store.admin.list_owners() == []
        await grow(store, owner="bob")
        await store.put_document(ADA, "k", b"")
        assert sorted(await store.admin.list_owners()) == [ADA, "bob"]

    async def test_a_check_finds_nothing_wrong_with_what_calls_leave(
        self, store: AsyncStore
    ) -> None:
        assert await store.admin.check() == []
        await furnish(store)
        await store.append(ADA, "s", [say("x1"), say("x2")], parent="m1")
        await store.create_session(ADA, fork_of("s", "x1", id="a"))
        await store.create_session(ADA, fork_of("a", "m1", id="b"))
        await store.create_session(ADA, fork_of("s", "m3", id="d", detach=True))
        await grow(store, "a1", "a2", session="a")
        await store.update_message(ADA, "s", say("m1", "changed", tokens=50))
        await store.delete_messages(ADA, "s", ["x1"])
        await store.add_overlay(ADA, "a", cover("m1", "a1", id="o2"))
        await store.finish_deletions()
        assert await store.admin.check() == []
        await store.delete_session(ADA, "s")
        await store.clear_session(ADA, "a")
        await store.finish_deletions()
        assert await store.admin.check() == []

    async def test_a_repair_changes_nothing_that_is_right(self, store: AsyncStore) -> None:
        await furnish(store)
        await store.append(ADA, "s", [say("x1"), say("x2")], parent="m1")
        await store.create_session(ADA, fork_of("s", "x1", id="a"))
        await grow(store, "a1", session="a")
        await store.update_message(ADA, "s", say("m1", "changed", tokens=50))
        await store.delete_messages(ADA, "s", ["x2"])
        await store.finish_deletions()
        before = [await state_of(store, name) for name in ("s", "a")]
        listed = await store.list_sessions(ADA, SessionQuery())
        assert await store.admin.repair() == []
        assert [await state_of(store, name) for name in ("s", "a")] == before
        assert await store.list_sessions(ADA, SessionQuery()) == listed

    async def test_a_store_is_copied_into_a_file_or_says_that_it_cannot_be(
        self, store: AsyncStore, tmp_path: Path
    ) -> None:
        await furnish(store)
        path = tmp_path / "copy"
        if Capability.BACKUP not in store.capabilities:
            with pytest.raises(UnsupportedOperationError):
                await store.admin.backup(path)
            assert not path.exists()
            return
        told: list[tuple[int, int]] = []
        await store.admin.backup(path, progress=lambda done, total: told.append((done, total)))
        assert told[-1][0] == told[-1][1] > 0
        before = path.read_bytes()
        with pytest.raises(AlreadyExistsError):
            await store.admin.backup(path)
        assert path.read_bytes() == before
        await store.admin.backup(str(path), replace=True)
        assert _copies(tmp_path) == ["copy"]

    async def test_a_closed_store_says_so_and_may_be_closed_again(self, store: AsyncStore) -> None:
        await furnish(store)
        await store.aclose()
        await store.aclose()
        for name in ("append", "read", "put_document", "find_messages", "delete_session"):
            with pytest.raises(ClosedError):
                await SESSION_CALLS[name](store, ADA, "s")
        with pytest.raises(ClosedError):
            await store.find_session(ADA, "s")
        with pytest.raises(ClosedError):
            await store.list_sessions(ADA, SessionQuery())
        with pytest.raises(ClosedError):
            await store.finish_deletions()

    async def test_a_store_closes_at_the_end_of_a_with_block(self, store: AsyncStore) -> None:
        async with store as same:
            assert same is store
        with pytest.raises(ClosedError):
            await store.find_session(ADA, "s")


def _copies(folder: Path) -> list[str]:
    return [it.name for it in folder.iterdir() if it.name.startswith("copy")]
