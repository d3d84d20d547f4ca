"""What a session's record holds, and keeps: its version."""

from __future__ import annotations

from functools import partial

import pytest

from ...errors import AlreadyExistsError, StaleVersionError
from ...model import ROOT, NewSession, SessionPatch
from ...store import AsyncStore
from ..makers import ADA, fork_of
from ..twin import AsyncTwin
from .base import AsyncContractBase, grow, record_of, shown_in

LIVES = 3


class AsyncRecordVersionContract(AsyncContractBase):
    """A version of a record is never used twice, whatever became of the session."""

    async def _live(self, store: AsyncStore, new: NewSession) -> tuple[int, int]:
        """Create a session and change it; return the first and the last version that it had."""
        first = (await store.create_session(ADA, new)).version
        assert (await record_of(store, new.id)).version == first
        await store.update_session(ADA, new.id, SessionPatch(title="t"), expected_version=first)
        await store.checkout(ADA, new.id, ROOT)
        last = (await store.clear_session(ADA, new.id)).version
        assert last == first + 3
        return first, last

    @pytest.mark.parametrize("how", ["empty", "fork", "detached"])
    async def test_a_session_that_is_created_again_has_versions_above_those_before(
        self, store: AsyncStore, how: str
    ) -> None:
        await grow(store, "m1", session="source")
        new = NewSession(id="s")
        if how != "empty":
            new = fork_of("source", id="s", detach=how == "detached")
        reached = 0
        for _ in range(LIVES):
            first, last = await self._live(store, new)
            assert first > reached
            reached = last
            await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert (await store.create_session(ADA, NewSession(id="s"))).version > reached

    async def test_a_version_is_not_used_again_after_the_owner_was_erased(
        self, store: AsyncStore
    ) -> None:
        reached = 0
        for _ in range(LIVES):
            first, last = await self._live(store, NewSession(id="s"))
            assert first > reached
            reached = last
            await store.erase_owner(ADA)
            await store.finish_deletions()

    async def test_a_deletion_takes_no_session_that_was_created_again(
        self, store: AsyncStore
    ) -> None:
        before = (await store.create_session(ADA, NewSession(id="s"))).version
        await store.delete_session(ADA, "s", expected_version=before)
        await grow(store, "m1")
        with pytest.raises(StaleVersionError):
            await store.delete_session(ADA, "s", expected_version=before)
        with pytest.raises(StaleVersionError):
            patch = SessionPatch(title="t")
            await store.update_session(ADA, "s", patch, expected_version=before)
        assert await shown_in(store) == ["m1"]

    async def test_no_version_is_used_twice_where_several_create_and_delete(
        self, store: AsyncStore
    ) -> None:
        used: list[int] = []

        async def live(often: int) -> None:
            for _ in range(often):
                try:
                    record = await store.create_session(ADA, NewSession(id="s"))
                    version = record.version
                    used.append(version)
                    for _ in range(2):
                        patch = SessionPatch(title="t")
                        done = await store.update_session(ADA, "s", patch, expected_version=version)
                        version = done.record.version
                        used.append(version)
                    await store.delete_session(ADA, "s", expected_version=version)
                except AlreadyExistsError:
                    # A session goes only by who made it.
                    continue

        await AsyncTwin.together([partial(live, 6) for _ in range(4)])
        assert len(used) == len(set(used))
