"""Missing messages: what was lost behind the store's back is told, and never left out."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from ...errors import StoreCorruptError
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncReopen, TakeOut
from .base import AsyncContractBase, grow, shown_in

READS: dict[str, dict[str, Any]] = {
    "whole": {},
    "without overlays": {"overlays": False},
    "to a leaf": {"leaf": "m7"},
    "the first": {"limit": 5},
    "the last": {"limit": 5, "backwards": True},
    "within bytes": {"max_bytes": 1_000_000},
    "within bytes, backwards": {"max_bytes": 1_000_000, "backwards": True},
    "a window": {"after": 1, "before": 6},
    "a window, backwards": {"after": 2, "before": 7, "limit": 4, "backwards": True},
    "exactly": {"after": 3, "before": 5},
    "without bodies": {"bodies": False},
    "the last, without bodies": {"limit": 5, "backwards": True, "bodies": False},
}
"""Reads of seven messages that meet the fourth."""
BESIDE: list[tuple[dict[str, Any], list[str]]] = [
    ({"after": 4}, ["m5", "m6", "m7"]),
    ({"after": 4, "before": 6}, ["m5"]),
    ({"limit": 2, "backwards": True}, ["m6", "m7"]),
    ({"limit": 3}, ["m1", "m2", "m3"]),
]
"""Reads of seven messages that do not, and what they show."""
AROUND: list[dict[str, Any]] = [{}, {"limit": 4, "backwards": True}, {"after": 1, "before": 7}]
"""Reads of seven messages that meet the second and the sixth, and the overlay between them."""


async def _refused(store: AsyncStore, session: str = "s") -> list[str]:
    """Return the names of the reads that say that something is missing."""
    refused = []
    for name, query in READS.items():
        try:
            await shown_in(store, session, **query)
        except StoreCorruptError:
            refused.append(name)
    return refused


class AsyncMissingContract(AsyncContractBase):
    """A message that is missing in the middle is told by the read that meets it."""

    @pytest.fixture
    def take_out(self) -> TakeOut:
        """Return a function that removes a stored message behind the store's back."""
        pytest.skip("the fixture `take_out` says how to remove a message behind the store's back")

    async def test_rule_08_a_missing_message_is_told_by_every_read_that_meets_it(
        self, store: AsyncStore, take_out: TakeOut
    ) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 8)))
        await store.delete_messages(ADA, "s", ["m3"])
        for _ in range(2):
            assert await _refused(store) == []
        take_out(ADA, "s", "m4")
        assert await _refused(store) == list(READS)

    @pytest.mark.parametrize("missing", ["m1", "m4", "m8", "m11"])
    async def test_rule_08_a_store_that_is_opened_anew_tells_of_a_missing_message(
        self, store: AsyncStore, take_out: TakeOut, reopen: AsyncReopen, missing: str
    ) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 13)))
        take_out(ADA, "s", missing)
        store = await reopen()
        with pytest.raises(StoreCorruptError):
            await shown_in(store)

    async def test_rule_08_what_a_read_shows_beside_a_missing_one_is_right(
        self, store: AsyncStore, take_out: TakeOut
    ) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 8)))
        take_out(ADA, "s", "m4")
        with pytest.raises(StoreCorruptError):
            await shown_in(store)
        shown = 0
        for query, right in BESIDE:
            with contextlib.suppress(StoreCorruptError):
                assert await shown_in(store, **query) == right
                shown += 1
        assert shown, "what is lost in the middle keeps nobody from reading elsewhere"

    async def test_rule_08_a_missing_message_of_another_segment_is_told(
        self, store: AsyncStore, take_out: TakeOut
    ) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 6)), "x1", "x2")
        await store.append(ADA, "s", [say("m6"), say("m7")], parent="m5")
        await store.create_session(ADA, fork_of("s", "m5"))
        await grow(store, "m6", "m7", session="fork")
        for session in ("s", "fork", "s", "fork"):
            assert await _refused(store, session) == []
        take_out(ADA, "s", "m4")
        for session in ("s", "fork"):
            assert await _refused(store, session) == list(READS)

    @pytest.mark.parametrize(("missing", "is_met"), [("m2", True), ("m4", False), ("m6", True)])
    async def test_rule_08_a_missing_message_beside_an_overlay_is_told(
        self, store: AsyncStore, take_out: TakeOut, missing: str, is_met: bool
    ) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 8)))
        await store.add_overlay(ADA, "s", cover("m3", "m5", id="o"))
        assert await shown_in(store) == ["m1", "m2", "<o>", "m6", "m7"]
        take_out(ADA, "s", missing)
        for query in AROUND if is_met else []:
            with pytest.raises(StoreCorruptError):
                await shown_in(store, **query)
        with pytest.raises(StoreCorruptError):
            await shown_in(store, overlays=False)

    async def test_rule_08_a_missing_message_is_told_by_the_stream_of_all(
        self, store: AsyncStore, take_out: TakeOut
    ) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 6)), "x1", "x2")
        await store.append(ADA, "s", [say("m6"), say("m7"), say("m8")], parent="m5")
        await store.delete_messages(ADA, "s", ["m4", "m6", "x1"])
        await store.create_session(ADA, fork_of("s", "m5"))
        await grow(store, "f1", session="fork")
        for session in ("s", "fork"):
            await store.list_messages(ADA, session)
        take_out(ADA, "s", "m7")
        await store.list_messages(ADA, "fork")
        take_out(ADA, "s", "m2")
        for session in ("s", "fork"):
            with pytest.raises(StoreCorruptError):
                await store.list_messages(ADA, session)

    async def test_deleted_messages_are_not_missing(self, store: AsyncStore) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 8)))
        await store.create_session(ADA, fork_of("s", "m6"))
        await grow(store, "f1", session="fork")
        await store.delete_messages(ADA, "s", ["m1", "m3", "m4", "m6", "m7"])
        for session, tail in (("s", []), ("fork", ["f1"])):
            assert await shown_in(store, session) == ["m2", "m5", *tail]
            assert await shown_in(store, session, max_bytes=10_000) == ["m2", "m5", *tail]
            last = ["m2", "m5", *tail][-2:]
            assert await shown_in(store, session, limit=2, backwards=True) == last
            assert await shown_in(store, session, limit=1) == ["m2"]
            assert await shown_in(store, session, after=2, before=5) == []
            assert await shown_in(store, session, after=2, limit=1) == ["m5"]
        await store.create_session(ADA, fork_of("fork", id="copy", detach=True))
        assert await shown_in(store, "copy") == ["m2", "m5", "f1"]
        assert await shown_in(store, "copy", limit=3, backwards=True) == ["m2", "m5", "f1"]
