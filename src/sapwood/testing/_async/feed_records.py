"""The change feed tells of sessions' records, where changes stand, and who reads it."""

from __future__ import annotations

import pytest

from ...errors import NotFoundError, StaleVersionError
from ...model import (
    Change,
    ChangeKind,
    DocumentPut,
    ForkPoint,
    NewSession,
    SessionPatch,
    SessionRecord,
    Usage,
)
from ...store import AsyncStore
from ..clock import ManualClock
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow
from .feed import DAY_S, written

TITLED = SessionPatch(title="t")


async def told(store: AsyncStore, after: str = "", owner: str = ADA) -> list[Change]:
    """Read the feed after a cursor, records and all."""
    changes: list[Change] = []
    more = True
    while more:
        page = await store.changes(owner, after=after, limit=2)
        changes += page.changes
        after, more = page.cursor, page.more
    return changes


async def record_of(store: AsyncStore, session: str = "s") -> SessionRecord:
    """Find a session that is there."""
    found = await store.find_session(ADA, session)
    assert found is not None
    return found


async def changed(store: AsyncStore, after: str, limit: int = 2) -> tuple[set[str], str]:
    """Follow the owners that changed, for as long as there are more."""
    owners: set[str] = set()
    more = True
    while more:
        page = await store.admin.changed_owners(after, limit)
        assert len(page.owners) <= limit
        owners.update(page.owners)
        after, more = page.cursor, page.more
    return owners, after


class AsyncRecordFeedContract(AsyncContractBase):
    """What counts in a record's version is told, in order with the session's messages."""

    async def test_changes_of_a_record_come_in_order_with_its_messages(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.update_session(ADA, "s", TITLED)
        await store.append(ADA, "s", [say("m2")])
        await store.append(ADA, "s", [say("m3")], patch=TITLED)
        await store.update_message(ADA, "s", say("m1", "new"), patch=TITLED)
        await store.checkout(ADA, "s", "m1")
        await store.append(ADA, "s", [say("m4")])
        await store.update_session(ADA, "s", SessionPatch(closed=True))
        assert written(await told(store)) == [
            "record s None",
            "append s m1",
            "record s None",
            "append s m2",
            "append s m3",
            "record s None",
            "update s m1",
            "record s None",
            "record s None",
            "append s m4",
            "record s None",
        ]

    async def test_forks_are_told_before_what_they_have(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        cursor = await store.feed_cursor(ADA)
        await store.create_session(ADA, fork_of("s", "m1"))
        await store.append(ADA, "fork", [say("f1")])
        copy = ForkPoint(session="s", message="m2", detach=True)
        await store.create_session(ADA, NewSession(id="copy", fork=copy))
        assert written(await told(store, cursor)) == [
            "record fork None",
            "append fork f1",
            "record copy None",
            "append copy m1",
            "append copy m2",
        ]

    async def test_what_does_not_count_in_the_version_is_no_change_of_a_record(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        cursor = await store.feed_cursor(ADA)
        await store.put_document(ADA, "k", b"1", session="s")
        await store.append(ADA, "s", [say("m2")], documents=[DocumentPut(key="k", value=b"2")])
        await store.append(ADA, "s", [say("m2")], patch=TITLED)
        await store.add_usage(ADA, "s", Usage(id="u1"))
        with pytest.raises(StaleVersionError):
            await store.update_session(ADA, "s", TITLED, expected_version=9)
        assert written(await told(store, cursor)) == ["append s m2"]

    async def test_a_clear_is_told_as_one_change(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.update_session(ADA, "s", TITLED)
        cursor = await store.feed_cursor(ADA)
        await store.clear_session(ADA, "s")
        await store.update_session(ADA, "s", TITLED)
        retired, record = await told(store, cursor)
        assert [retired.kind, record.kind] == [ChangeKind.RETIRE, ChangeKind.RECORD]
        assert 2 <= retired.version < record.version == (await record_of(store)).version

    async def test_a_change_tells_where_the_message_stands(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.update_message(ADA, "s", say("m2", "new"))
        await store.create_session(ADA, fork_of("s", "m1"))
        await store.append(ADA, "fork", [say("f1")])
        for change in await told(store):
            if change.message is None:
                assert (change.position, change.depth) == (None, None)
                continue
            [message] = await store.find_messages(ADA, change.session, [change.message])
            assert message is not None
            assert (change.position, change.depth) == (message.position, message.depth)

    async def test_the_sessions_of_a_tree_are_told_with_one_name_of_it(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1"))
        await store.append(ADA, "fork", [say("f1")])
        copy = ForkPoint(session="s", message="m1", detach=True)
        await store.create_session(ADA, NewSession(id="copy", fork=copy))
        await grow(store, "o1", session="other")
        await store.delete_messages(ADA, "s", ["m2"])
        trees: dict[str, set[str]] = {}
        for change in await told(store):
            trees.setdefault(change.session, set()).add(change.tree)
        assert {len(names) for names in trees.values()} == {1}
        assert trees["s"] == trees["fork"]
        assert len({*trees["s"], *trees["copy"], *trees["other"]}) == 3
        cursor = await store.feed_cursor(ADA)
        await store.delete_session(ADA, "s")
        await store.delete_messages(ADA, "fork", ["m1"])
        assert {change.tree for change in await told(store, cursor)} == trees["s"]

    async def test_a_higher_version_replaces_a_lower_one(self, store: AsyncStore) -> None:
        seen: list[int] = []
        cursor = ""
        for said in ("first", "second", "third", None):
            if said == "first":
                await grow(store, "m1")
            elif said is not None:
                await store.update_message(ADA, "s", say("m1", said))
            else:
                await store.delete_messages(ADA, "s", ["m1"])
            seen += [it.version for it in await told(store, cursor) if it.message == "m1"]
            cursor = await store.feed_cursor(ADA)
        assert seen == [1, 2, 3, 4]
        # What was told before is told again as it was, or as it is now.
        again = [it.version for it in await told(store) if it.message == "m1"]
        assert all(now >= then for now, then in zip(again, seen, strict=True))

    async def test_the_version_of_a_record_is_never_below_what_a_change_made_it(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        cursor = ""
        for patch in (None, TITLED, SessionPatch(closed=True)):
            if patch is not None:
                await store.update_session(ADA, "s", patch)
            *_, change = [it for it in await told(store, cursor) if it.message is None]
            assert change.version == (await record_of(store)).version
            cursor = await store.feed_cursor(ADA)


class AsyncFeedReaderContract(AsyncContractBase):
    """Where a feed ends, and for whom it is kept."""

    async def test_the_newest_cursor_comes_after_all_that_was_committed(
        self, store: AsyncStore
    ) -> None:
        before = await store.feed_cursor(ADA)
        await grow(store, "m1")
        await grow(store, "b1", owner="bob")
        cursor = await store.feed_cursor(ADA)
        assert await store.feed_cursor(ADA) == cursor
        assert written(await told(store, before)) == ["record s None", "append s m1"]
        assert await told(store, cursor) == []
        await store.append(ADA, "s", [say("m2")])
        await store.update_session(ADA, "s", TITLED)
        assert written(await told(store, cursor)) == ["append s m2", "record s None"]

    async def test_the_newest_cursor_is_good_for_a_reader(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        page = await store.changes(ADA, after=await store.feed_cursor(ADA), reader="r")
        assert (page.changes, page.more) == ([], False)

    async def test_a_reader_is_forgotten_once(self, store: AsyncStore) -> None:
        assert not await store.forget_reader("nobody", "r")
        await grow(store, "m1")
        assert not await store.forget_reader(ADA, "r")
        await store.changes(ADA, reader="r")
        assert not await store.forget_reader("bob", "r")
        assert await store.forget_reader(ADA, "r")
        assert not await store.forget_reader(ADA, "r")

    async def _leave(self, store: AsyncStore, clock: ManualClock, days: float) -> str:
        """Let a feed go on for some days after a cursor; return that."""
        await grow(store, "m1")
        cursor = await store.feed_cursor(ADA)
        await store.changes(ADA, after=cursor, reader="slow")
        await store.update_message(ADA, "s", say("m1", "new"))
        await store.update_session(ADA, "s", TITLED)
        end = (await store.changes(ADA, after=cursor)).cursor
        await store.changes(ADA, after=end, reader="fast")
        clock.advance(days * DAY_S)
        await store.append(ADA, "s", [say("m2")])
        await store.finish_deletions()
        return cursor

    async def test_what_a_reader_is_yet_to_see_is_kept(
        self, store: AsyncStore, clock: ManualClock
    ) -> None:
        cursor = await self._leave(store, clock, 29)
        assert written(await told(store, cursor)) == [
            "update s m1",
            "record s None",
            "append s m2",
        ]

    async def test_a_reader_that_was_forgotten_holds_nothing_back(
        self, store: AsyncStore, clock: ManualClock
    ) -> None:
        cursor = await self._leave(store, clock, 2)
        await store.forget_reader(ADA, "slow")
        await store.finish_deletions()
        with pytest.raises(NotFoundError):
            await store.changes(ADA, after=cursor)

    async def test_a_reader_that_was_lost_for_a_month_is_forgotten(
        self, store: AsyncStore, clock: ManualClock
    ) -> None:
        cursor = await self._leave(store, clock, 31)
        assert not await store.forget_reader(ADA, "slow")
        assert await store.forget_reader(ADA, "fast")
        with pytest.raises(NotFoundError):
            await store.changes(ADA, after=cursor, reader="slow")

    async def test_a_feed_is_kept_for_its_own_readers_only(
        self, store: AsyncStore, clock: ManualClock
    ) -> None:
        await grow(store, "b1", owner="bob")
        await store.changes("bob", reader="slow")
        cursor = await self._leave(store, clock, 2)
        await store.forget_reader(ADA, "slow")
        await store.finish_deletions()
        with pytest.raises(NotFoundError):
            await store.changes(ADA, after=cursor)
        assert written(await told(store, owner="bob")) == ["record s None", "append s b1"]


class AsyncChangedOwnersContract(AsyncContractBase):
    """A loop over all owners finds each that changed."""

    async def test_each_owner_that_changed_comes_at_least_once(self, store: AsyncStore) -> None:
        for owner in "abcde":
            await grow(store, "m1", "m2", owner=owner)
        owners, cursor = await changed(store, "")
        assert owners == set("abcde")
        await store.append("d", "s", [say("m3")])
        await store.update_session("b", "s", TITLED)
        owners, cursor = await changed(store, cursor)
        assert {"b", "d"} <= owners
        await store.create_session("new", NewSession(id="s"))
        assert "new" in (await changed(store, cursor, limit=1))[0]

    async def test_an_owner_that_was_erased_is_passed_over(self, store: AsyncStore) -> None:
        for owner in "abc":
            await grow(store, "m1", owner=owner)
        await store.erase_owner("b")
        await store.finish_deletions()
        assert (await changed(store, ""))[0] == {"a", "c"}

    async def test_nobody_changed_in_a_store_that_is_empty(self, store: AsyncStore) -> None:
        assert (await changed(store, ""))[0] == set()
