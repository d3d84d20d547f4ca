"""What an overlay is checked against in the write that adds it: ends, snapshot, lease."""

from __future__ import annotations

import pytest

from ...errors import (
    AlreadyExistsError,
    ConflictError,
    LeaseLostError,
    NotFoundError,
    UsageError,
)
from ...model import Fence, NewOverlay
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, fork_of, say
from .base import AsyncContractBase, grow, history_of, shown_in, state_of


async def refused(store: AsyncStore, error: type[Exception], new: NewOverlay) -> None:
    """See that an overlay is refused with this error and that nothing changed."""
    before = await state_of(store)
    with pytest.raises(error):
        await store.add_overlay(ADA, "s", new)
    assert await state_of(store) == before


class AsyncOverlayEndContract(AsyncContractBase):
    """Both ends must be entries visible at the leaf."""

    async def test_rule_07_an_end_that_does_not_exist_is_an_error(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await grow(store, "x", session="other")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"))
        await store.undo_overlay(ADA, "s", "o")
        for first, last in [("nothing", "2"), ("1", "nothing"), ("x", "2"), ("<o>", "3")]:
            await refused(store, NotFoundError, cover(first, last))
        await refused(store, NotFoundError, cover("1", "2", leaf="nothing"))

    async def test_an_end_that_is_not_visible_is_a_conflict(self, store: AsyncStore) -> None:
        await grow(store, *"12345")
        await store.append(ADA, "s", [say("x")], parent="1")
        await store.checkout(ADA, "s", "5")
        await store.add_overlay(ADA, "s", cover("2", "3", id="o"))
        await store.put_document(ADA, "pins", b'["2"]', session="s")
        for first, last in [("2", "4"), ("1", "3"), ("1", "x"), ("x", "5")]:
            await refused(store, ConflictError, cover(first, last))
        await refused(store, ConflictError, cover("1", "5", leaf="x"))
        await store.add_overlay(ADA, "s", cover("1", "<o>", id="wide"))
        await refused(store, ConflictError, cover("<o>", "5"))

    async def test_a_deleted_end_is_a_conflict(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.delete_messages(ADA, "s", ["1"])
        await refused(store, ConflictError, cover("1", "2"))

    async def test_a_message_and_an_overlay_of_one_name_are_two(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.add_overlay(ADA, "s", cover("2", "3", id="1"))
        assert await shown_in(store) == ["1", "<1>"]
        await store.add_overlay(ADA, "s", cover("1", "<1>", id="2"))
        assert await shown_in(store) == ["<2>"]

    async def test_ends_in_the_wrong_order_are_refused(self, store: AsyncStore) -> None:
        await grow(store, *"12345")
        await store.add_overlay(ADA, "s", cover("2", "3", id="o"))
        for first, last in [("5", "4"), ("4", "<o>"), ("<o>", "1")]:
            await refused(store, UsageError, cover(first, last))

    async def test_a_taken_overlay_id_is_refused(self, store: AsyncStore) -> None:
        await grow(store, *"12345")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"))
        await refused(store, AlreadyExistsError, cover("3", "4", id="o"))

    async def test_a_single_message_can_be_covered(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        overlay = await store.add_overlay(ADA, "s", cover("2", "2", id="o"))
        assert overlay.first == overlay.last
        assert await shown_in(store) == ["1", "<o>", "3"]

    async def test_a_summary_is_no_message(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"))
        with pytest.raises(NotFoundError):
            await store.append(ADA, "s", [say("x")], parent="o")
        with pytest.raises(NotFoundError):
            await store.checkout(ADA, "s", "o")
        with pytest.raises(NotFoundError):
            await store.create_session(ADA, fork_of("s", "o"))


class AsyncSnapshotContract(AsyncContractBase):
    """An overlay is refused when what it was made from has changed."""

    async def test_rule_09_a_change_in_the_range_since_the_snapshot_is_a_conflict(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345")
        for change in ("update", "delete"):
            snapshot = (await history_of(store)).snapshot
            if change == "update":
                await store.update_message(ADA, "s", say("2", "changed"))
            else:
                await store.delete_messages(ADA, "s", ["2"])
            await refused(store, ConflictError, cover("1", "3", snapshot=snapshot))
            fresh = (await history_of(store)).snapshot
            await store.add_overlay(ADA, "s", cover("1", "3", id="o", snapshot=fresh))
            await store.undo_overlay(ADA, "s", "o")

    async def test_rule_09_a_change_outside_the_range_is_none(self, store: AsyncStore) -> None:
        await grow(store, *"12345")
        await store.append(ADA, "s", [say("x")], parent="1")
        await store.checkout(ADA, "s", "5")
        snapshot = (await history_of(store)).snapshot
        await store.update_message(ADA, "s", say("5", "changed"))
        await store.update_message(ADA, "s", say("x", "changed"))
        await store.delete_messages(ADA, "s", ["1"])
        await store.add_overlay(ADA, "s", cover("2", "4", id="o", snapshot=snapshot))
        assert await shown_in(store) == ["<o>", "5"]

    async def test_rule_09_a_change_under_a_covered_summary_counts(self, store: AsyncStore) -> None:
        await grow(store, *"12345")
        await store.add_overlay(ADA, "s", cover("2", "3", id="o"))
        snapshot = (await history_of(store)).snapshot
        await store.update_message(ADA, "s", say("2", "changed"))
        await refused(store, ConflictError, cover("1", "<o>", snapshot=snapshot))

    async def test_rule_09_a_change_through_the_home_counts_for_a_fork(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123")
        await store.create_session(ADA, fork_of("s"))
        snapshot = (await history_of(store, "fork")).snapshot
        await store.delete_messages(ADA, "s", ["2"])
        with pytest.raises(ConflictError):
            await store.add_overlay(ADA, "fork", cover("1", "3", snapshot=snapshot))

    async def test_a_change_before_the_snapshot_is_none(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        await store.update_message(ADA, "s", say("2", "changed"))
        snapshot = (await history_of(store, leaf="2")).snapshot
        await store.add_overlay(ADA, "s", cover("1", "2", id="o", snapshot=snapshot))
        assert await shown_in(store) == ["<o>", "3"]

    async def test_a_deletion_before_the_snapshot_in_what_a_fork_inherited_is_none(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "1", "2", "3", "4")
        await store.create_session(ADA, fork_of("s"))
        await store.delete_session(ADA, "s")
        before = (await history_of(store, "fork")).snapshot
        await store.delete_messages(ADA, "fork", ["2"])
        with pytest.raises(ConflictError):
            await store.add_overlay(ADA, "fork", cover("1", "3", snapshot=before))
        snapshot = (await history_of(store, "fork")).snapshot
        await store.add_overlay(ADA, "fork", cover("1", "3", id="o", snapshot=snapshot))
        assert await shown_in(store, "fork") == ["<o>", "4"]


class AsyncLeaseContract(AsyncContractBase):
    """A lease is a document with an expiry, and its version is the fencing token."""

    async def test_rule_09_the_holder_of_a_lease_may_write(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        lease = await store.put_document(
            ADA, "lease", b"me", session="s", expected_version=0, expires_in_s=1
        )
        fence = Fence(key="lease", version=lease.version)
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"), fence=fence)
        assert await shown_in(store) == ["<o>", "3"]

    async def test_rule_09_an_expired_lease_holds_until_another_takes_it(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store, *"12345")
        mine = await store.put_document(ADA, "lease", b"me", session="s", expires_in_s=0.5)
        clock.advance(1)
        fence = Fence(key="lease", version=mine.version)
        await store.add_overlay(ADA, "s", cover("1", "2", id="o"), fence=fence)
        theirs = await store.put_document(
            ADA, "lease", b"they", session="s", expected_version=0, expires_in_s=60
        )
        assert theirs.version > mine.version
        before = await state_of(store)
        with pytest.raises(LeaseLostError):
            await store.add_overlay(ADA, "s", cover("3", "4"), fence=fence)
        assert await state_of(store) == before

    async def test_rule_09_a_released_lease_is_lost(self, store: AsyncStore) -> None:
        await grow(store, *"123")
        lease = await store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
        fence = Fence(key="lease", version=lease.version)
        await store.delete_document(ADA, "lease", session="s", expected_version=lease.version)
        for other in (fence, Fence(key="never", version=1)):
            with pytest.raises(LeaseLostError):
                await store.add_overlay(ADA, "s", cover("1", "2"), fence=other)

    async def test_rule_09_clearing_a_session_takes_its_leases(self, store: AsyncStore) -> None:
        await grow(store, *"12")
        lease = await store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
        await store.clear_session(ADA, "s")
        await grow(store, *"12")
        fence = Fence(key="lease", version=lease.version)
        with pytest.raises(LeaseLostError):
            await store.add_overlay(ADA, "s", cover("1", "2"), fence=fence)

    async def test_rule_09_the_lease_is_looked_at_before_the_ends(self, store: AsyncStore) -> None:
        await grow(store, *"12")
        with pytest.raises(LeaseLostError):
            await store.add_overlay(
                ADA, "s", cover("nothing", "2"), fence=Fence(key="lease", version=1)
            )

    async def test_rule_09_the_lease_of_another_session_is_none(self, store: AsyncStore) -> None:
        await grow(store, *"12")
        await grow(store, session="other")
        theirs = await store.put_document(ADA, "lease", b"", session="other")
        owners = await store.put_document(ADA, "lease", b"")
        for version in (theirs.version, owners.version):
            with pytest.raises(LeaseLostError):
                await store.add_overlay(
                    ADA, "s", cover("1", "2"), fence=Fence(key="lease", version=version)
                )
