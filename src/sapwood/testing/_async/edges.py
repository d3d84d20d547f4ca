"""The edges of ranges: what is exactly there, and what is one beside it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ...errors import ConflictError
from ...store import AsyncStore
from ..clock import Clock, ManualClock
from ..makers import ADA, cover, fork_of, say
from .base import AsyncContractBase, grow, history_of, record_of, shown_in
from .documents import SCOPES
from .listing import listed

MICROSECOND = timedelta(microseconds=1)
WINDOWS: list[tuple[dict[str, Any], list[str]]] = [
    ({"before": 3}, ["1", "2"]),
    ({"before": 4}, ["1", "2", "<o>"]),
    ({"after": 3}, ["<o>", "5", "6"]),
    ({"after": 4}, ["5", "6"]),
    ({"after": 2, "before": 4}, ["<o>"]),
    ({"after": 3, "before": 5}, ["<o>"]),
]
"""Windows of six messages, of which an overlay covers the third and the fourth."""


def _exact(clock: Clock) -> ManualClock:
    if not isinstance(clock, ManualClock):
        pytest.skip("this clock cannot be set to a microsecond")
    return clock


class AsyncEdgeContract(AsyncContractBase):
    """Each range says of both its ends whether they belong to it."""

    @SCOPES
    async def test_a_document_is_there_until_the_microsecond_of_its_expiry(
        self, store: AsyncStore, clock: Clock, session: str | None
    ) -> None:
        exact = _exact(clock)
        await grow(store)
        put = await store.put_document(ADA, "k", b"1", session=session, expires_in_s=2)
        assert put.expires_us == exact.now_us + 2_000_000
        exact.now_us = put.expires_us - 1
        assert await store.find_document(ADA, "k", session=session) == put
        assert await store.list_documents(ADA, session=session) == [put]
        assert (await store.statistics(ADA)).documents == 1
        exact.now_us = put.expires_us
        assert await store.find_document(ADA, "k", session=session) is None
        assert await store.list_documents(ADA, session=session) == []
        assert (await store.statistics(ADA)).documents == 0
        assert await store.delete_document(ADA, "k", session=session) is False
        await store.put_document(ADA, "k", b"2", session=session, expected_version=0)

    async def test_activity_within_a_second_is_told_apart_to_the_microsecond(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        exact = _exact(clock)
        for name in ("a", "b", "c"):
            await grow(store, "m", session=name)
        for name in ("a", "b", "c"):
            exact.now_us += 1
            await grow(store, "n", session=name)
        at = (await record_of(store, "b")).active_at
        for query, names in (
            ({"active_from": at}, ["b", "c"]),
            ({"active_from": at + MICROSECOND}, ["c"]),
            ({"active_until": at}, ["a"]),
            ({"active_until": at + MICROSECOND}, ["a", "b"]),
            ({"active_from": at, "active_until": at + MICROSECOND}, ["b"]),
            ({"active_from": at, "active_until": at}, []),
        ):
            for order in ("active", "created"):
                wanted: dict[str, Any] = {**query, "order": order}
                assert sorted(await listed(store, **wanted)) == names

    async def test_a_window_shows_a_summary_of_which_it_has_one_message(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123456")
        await store.add_overlay(ADA, "s", cover("3", "4", id="o"))
        for backwards in (False, True):
            for window, names in WINDOWS:
                assert await shown_in(store, backwards=backwards, **window) == names

    async def test_an_overlay_over_the_first_message_leaves_nothing_above_it(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"1234", tokens=10)
        await store.add_overlay(ADA, "s", cover("1", "1", id="o", tokens=1))
        assert await shown_in(store) == ["<o>", "2", "3", "4"]
        assert await shown_in(store, limit=3, backwards=True) == ["2", "3", "4"]
        assert not (await history_of(store, limit=4, backwards=True)).more
        assert (await record_of(store)).context_tokens == 31

    async def test_an_overlay_that_begins_a_segment_is_followed_upwards_by_what_is_above(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"1234", tokens=10)
        await store.create_session(ADA, fork_of("s", "2"))
        await grow(store, "f1", "f2", "f3", session="fork", tokens=10)
        await store.add_overlay(ADA, "fork", cover("f1", "f2", id="o", tokens=1))
        assert await shown_in(store, "fork") == ["1", "2", "<o>", "f3"]
        await store.add_overlay(ADA, "fork", cover("2", "<o>", id="p", tokens=1))
        assert await shown_in(store, "fork") == ["1", "<p>", "f3"]
        assert (await record_of(store, "fork")).context_tokens == 21

    async def test_a_pin_is_shown_with_a_summary_that_begins_or_ends_with_it(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345", tokens=10)
        await store.put_document(ADA, "pins", b'["1", "2", "4", "5"]', session="s")
        await store.add_overlay(ADA, "s", cover("2", "4", id="o", tokens=1))
        assert await shown_in(store) == ["1", "<o>+2+4", "5"]
        assert (await record_of(store)).context_tokens == 41

    async def test_overlays_quote_their_first_and_last_message_and_none_beside_them(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345")
        await store.add_overlay(ADA, "s", cover("2", "4", id="o"))
        for id, quoting in (("1", []), ("5", []), ("2", ["o"]), ("4", ["o"])):
            deleted = await store.delete_messages(ADA, "s", [id])
            assert deleted.quoting_overlays == quoting

    @pytest.mark.parametrize(("id", "is_inside"), [("1", False), ("2", True), ("4", True)])
    async def test_an_edit_of_the_first_or_last_message_since_a_snapshot_is_a_conflict(
        self, store: AsyncStore, id: str, is_inside: bool
    ) -> None:
        await grow(store, *"12345")
        snapshot = (await history_of(store)).snapshot
        await store.update_message(ADA, "s", say(id, "new", tokens=1))
        await store.update_message(ADA, "s", say("5", "new", tokens=1))
        new = cover("2", "4", id="o", snapshot=snapshot)
        if is_inside:
            with pytest.raises(ConflictError):
                await store.add_overlay(ADA, "s", new)
        else:
            await store.add_overlay(ADA, "s", new)
        assert ("<o>" in await shown_in(store)) is not is_inside
