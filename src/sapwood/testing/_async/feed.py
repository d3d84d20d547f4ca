"""The change feed: every change at least once, in order, and none passed over."""

from __future__ import annotations

import re

import pytest

from ...errors import NotFoundError, UsageError
from ...model import Change, ChangeKind
from ...store import AsyncStore
from ..clock import ManualClock
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow

DAY_S = 24 * 3_600


async def follow(
    store: AsyncStore, after: str = "", limit: int = 500, owner: str = ADA
) -> tuple[list[Change], str]:
    """Read the feed from a cursor to its end, but for what it tells of records."""
    changes: list[Change] = []
    while True:
        page = await store.changes(owner, after=after, limit=limit)
        assert len(page.changes) <= limit
        changes += [it for it in page.changes if it.kind is not ChangeKind.RECORD]
        after = page.cursor
        if not page.more:
            return changes, after


def written(changes: list[Change]) -> list[str]:
    """Write changes down shortly."""
    return [f"{change.kind.value} {change.session} {change.message}" for change in changes]


class AsyncFeedContract(AsyncContractBase):
    """The feed tells what happened to messages."""

    async def test_an_empty_feed_has_a_cursor(self, store: AsyncStore) -> None:
        page = await store.changes(ADA)
        assert (page.changes, page.more) == ([], False)
        await grow(store, "m1")
        assert written((await follow(store, page.cursor))[0]) == ["append s m1"]

    async def test_rule_13_erasing_an_owner_takes_nothing_from_anothers_feed(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a1", "a2", owner="bob")
        await grow(store, "m1")
        page = await store.changes(ADA, reader="index")
        await store.append("bob", "s", [say("a3"), say("a4")])
        await store.append(ADA, "s", [say("m2")])
        await store.erase_owner("bob")
        after = await store.changes(ADA, after=page.cursor, reader="index")
        assert written(after.changes) == ["append s m2"]

    async def test_appends_edits_and_deletes_come_in_order(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [say("m2"), say("m3")])
        await store.update_message(ADA, "s", say("m1", "new"))
        await store.delete_messages(ADA, "s", ["m3", "m2"])
        changes, _ = await follow(store)
        assert written(changes) == [
            "append s m1",
            "append s m2",
            "append s m3",
            "update s m1",
            "delete s m3",
            "delete s m2",
        ]
        assert [change.depth for change in changes] == [1, 2, 3, 1, 3, 2]

    async def test_what_wrote_nothing_is_not_in_the_feed(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.delete_messages(ADA, "s", ["m2"])
        _, cursor = await follow(store)
        await store.append(ADA, "s", [say("m1")])
        await store.delete_messages(ADA, "s", ["m2"])
        with pytest.raises(NotFoundError):
            await store.update_message(ADA, "s", say("m2", "new"))
        assert (await follow(store, cursor))[0] == []

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    async def test_pages_give_the_whole_feed(self, store: AsyncStore, limit: int) -> None:
        await grow(store, *"123")
        await store.append(ADA, "s", [say(id) for id in "4567"])
        changes, cursor = await follow(store, limit=limit)
        assert [change.message for change in changes] == list("1234567")
        assert (await follow(store, cursor, limit))[0] == []
        await grow(store, "8")
        assert [c.message for c in (await follow(store, cursor, limit))[0]] == ["8"]

    async def test_a_cursor_can_be_read_from_again(self, store: AsyncStore) -> None:
        await grow(store, "1")
        _, cursor = await follow(store)
        await grow(store, "2", "3")
        first, _ = await follow(store, cursor)
        assert (await follow(store, cursor))[0] == first
        assert [change.message for change in first] == ["2", "3"]

    async def test_a_session_that_went_is_told(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        _, cursor = await follow(store)
        await store.clear_session(ADA, "s")
        await grow(store, "m2")
        changes, cursor = await follow(store, cursor)
        assert written(changes) == ["retire s None", "append s m2"]
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        changes, _ = await follow(store, cursor)
        assert [change.kind for change in changes] == [ChangeKind.RETIRE]

    async def test_changes_name_the_home_of_a_message(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s"))
        await grow(store, "f1", session="fork")
        await store.update_message(ADA, "s", say("m1", "new"))
        changes, cursor = await follow(store)
        assert written(changes)[-2:] == ["append fork f1", "update s m1"]
        await store.delete_session(ADA, "s")
        await store.delete_messages(ADA, "fork", ["m1"])
        changes, _ = await follow(store, cursor)
        assert written(changes) == ["retire s None", "delete fork m1"]

    async def test_rule_13_a_feed_is_one_owners(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await grow(store, "b1", owner="bob")
        changes, cursor = await follow(store)
        assert written(changes) == ["append s m1"]
        await grow(store, "b2", owner="bob")
        assert (await follow(store, cursor))[0] == []
        assert written((await follow(store, owner="bob"))[0]) == ["append s b1", "append s b2"]

    async def test_a_registered_reader_reads_on_from_its_cursor(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        page = await store.changes(ADA, reader="indexer")
        await grow(store, "m2")
        await store.finish_deletions()
        again = await store.changes(ADA, after=page.cursor, reader="indexer")
        assert written(again.changes) == ["append s m2"]

    @pytest.mark.parametrize("seen", [1, 2, 4, 5])
    async def test_what_follows_a_cursor_is_given_whole_or_was_trimmed(
        self, store: AsyncStore, clock: ManualClock, seen: int
    ) -> None:
        await grow(store)
        await store.append(ADA, "s", [say(f"a{n}") for n in range(4)])
        await store.append(ADA, "s", [say("b0"), say("b1")])
        cursor = (await store.changes(ADA, limit=1 + seen)).cursor
        clock.advance(2 * DAY_S)
        await store.append(ADA, "s", [say(f"c{n}") for n in range(4)])
        await store.finish_deletions()
        try:
            changes, _ = await follow(store, cursor)
        except NotFoundError:
            return
        ids = ["a0", "a1", "a2", "a3", "b0", "b1", "c0", "c1", "c2", "c3"]
        assert [change.message for change in changes] == ids[seen:]

    async def test_a_clock_that_was_ahead_makes_no_cursor_pass_changes_by(
        self, store: AsyncStore, clock: ManualClock
    ) -> None:
        await grow(store)
        for n in range(10):
            clock.advance(3 * DAY_S if n == 3 else 0)
            await store.append(ADA, "s", [say(f"m{n}")])
            clock.advance(-3 * DAY_S if n == 3 else 0)
        cursor = (await store.changes(ADA, limit=1 + 6)).cursor
        for _ in range(2):
            clock.advance(2.5 * DAY_S)
            await store.finish_deletions()
            try:
                changes, _ = await follow(store, cursor)
            except NotFoundError:
                continue
            assert [change.message for change in changes] == ["m6", "m7", "m8", "m9"]

    async def test_a_cursor_that_the_feed_has_not_come_to_is_refused(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        ahead = re.sub(
            r"\d+", lambda it: str(int(it[0]) + 10**6), (await store.changes(ADA)).cursor
        )
        for reader in (None, "index"):
            with pytest.raises((UsageError, NotFoundError)):
                await store.changes(ADA, after=ahead, reader=reader)

    async def test_a_cursor_from_before_its_owner_was_erased_passes_no_change_by(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123456789")
        cursors = [(await store.changes(ADA, limit=n)).cursor for n in (1, 4, 500)]
        await store.erase_owner(ADA)
        await store.finish_deletions()
        await grow(store, *"abc")
        for cursor in cursors:
            try:
                changes, _ = await follow(store, cursor)
            except NotFoundError:
                continue
            told = [change.message for change in changes]
            assert told[-3:] == ["a", "b", "c"]

    async def test_rule_15_a_feeds_cursor_that_is_none_of_ours_is_refused(
        self, store: AsyncStore
    ) -> None:
        for cursor in ("x", "é", "-", "null", "9" * 5_000):
            with pytest.raises((UsageError, NotFoundError)):
                await store.changes(ADA, after=cursor)
