"""When a session was active, and when it was last written to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from ...calls import AsyncAnswer
from ...errors import StaleTipError, StaleVersionError
from ...model import (
    ROOT,
    DocumentPut,
    NewMessage,
    NewSession,
    Read,
    SessionPatch,
    SystemPatch,
    TextPart,
    Usage,
)
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, cover, fork_of, say
from .base import AsyncContractBase, grow, record_of
from .listing import listed

SECOND_US = 1_000_000
LONG_AGO_US = 1_000_000_000_000_000

Act = Callable[[AsyncStore], AsyncAnswer[object]]

WRITES: dict[str, Act] = {
    "append": lambda s: s.append(ADA, "s", [say("m9")]),
    "append of several": lambda s: s.append(ADA, "s", [say("m8"), say("m9")], parent="m1"),
    "append with more": lambda s: s.append(
        ADA, "s", [say("m9")], patch=SessionPatch(title="t"), documents=[_document()]
    ),
    "append of what was said before": lambda s: s.append(ADA, "s", [said("m9", LONG_AGO_US)]),
    "update_message": lambda s: s.update_message(ADA, "s", say("m1", "new")),
    "update of the tip": lambda s: s.update_message(ADA, "s", say("m2", "new")),
    "delete_messages": lambda s: s.delete_messages(ADA, "s", ["m1"]),
    "deletion of the tip": lambda s: s.delete_messages(ADA, "s", ["m2"]),
    "update_session": lambda s: s.update_session(ADA, "s", SessionPatch(title="t")),
    "an empty patch": lambda s: s.update_session(ADA, "s", SessionPatch()),
    "checkout": lambda s: s.checkout(ADA, "s", "m1"),
    "clear_session": lambda s: s.clear_session(ADA, "s"),
}
OTHERS: dict[str, Act] = {
    "a known append": lambda s: s.append(ADA, "s", [say("m2")]),
    "nothing more to delete": lambda s: s.delete_messages(ADA, "s", []),
    "put_document": lambda s: s.put_document(ADA, "k", b"v", session="s"),
    "put_documents": lambda s: s.put_documents(ADA, "s", [_document()]),
    "add_usage": lambda s: s.add_usage(ADA, "s", Usage(id="u", model="m")),
    "read": lambda s: s.read(ADA, "s", Read()),
    "a fork": lambda s: s.create_session(ADA, fork_of("s", "m1")),
    "another session": lambda s: grow(s, "x1", session="other"),
    "finish_deletions": lambda s: s.finish_deletions(),
}


def _document() -> DocumentPut:
    return DocumentPut(key="k", value=b"v")


def said(id: str, at_us: int) -> NewMessage:
    """Write a message that was said at another time."""
    return NewMessage(id=id, role="user", parts=[TextPart(text=id)], created_us=at_us)


class AsyncUpdatedContract(AsyncContractBase):
    """A record tells when it, or one of its messages, was last written, by the store's clock."""

    async def test_a_new_session_was_written_when_it_was_created(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        first = await store.create_session(ADA, NewSession(id="s"))
        assert abs(first.updated_us - first.created_us) < SECOND_US
        clock.advance(2)
        for n, new in enumerate((NewSession(id="t"), fork_of("s"), fork_of("s", detach=True))):
            made = NewSession(id=f"n{n}", fork=new.fork, created_us=LONG_AGO_US)
            record = await store.create_session(ADA, made)
            assert (record.created_us, record.active_us) == (LONG_AGO_US, LONG_AGO_US)
            assert record.updated_us >= first.updated_us + 2 * SECOND_US
            assert await record_of(store, made.id) == record
            assert record.updated_at == datetime.fromtimestamp(0, UTC) + timedelta(
                microseconds=record.updated_us
            )

    @pytest.mark.parametrize("how", sorted(WRITES))
    async def test_what_is_written_to_a_session_moves_its_time(
        self, store: AsyncStore, clock: Clock, how: str
    ) -> None:
        await grow(store, "m1", "m2")
        before = (await record_of(store)).updated_us
        clock.advance(2)
        await WRITES[how](store)
        after = (await record_of(store)).updated_us
        assert before + 2 * SECOND_US <= after < before + 60 * SECOND_US
        await store.finish_deletions()
        assert (await record_of(store)).updated_us == after

    @pytest.mark.parametrize("how", sorted(OTHERS))
    async def test_what_does_not_change_it_leaves_its_time(
        self, store: AsyncStore, clock: Clock, how: str
    ) -> None:
        await grow(store, "m1", "m2")
        before = (await record_of(store)).updated_us
        clock.advance(2)
        await OTHERS[how](store)
        assert (await record_of(store)).updated_us == before

    async def test_a_write_that_is_refused_leaves_its_time(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store, "m1", "m2")
        before = await record_of(store)
        clock.advance(2)
        with pytest.raises(StaleTipError):
            await store.append(ADA, "s", [say("m3")], expected_tip="m1")
        with pytest.raises(StaleVersionError):
            await store.append(ADA, "s", [say("m3")], expected_version=before.version + 1)
        with pytest.raises(StaleVersionError):
            await store.update_session(ADA, "s", SessionPatch(), expected_version=9)
        with pytest.raises(StaleTipError):
            await store.checkout(ADA, "s", ROOT, expected_tip="m1")
        assert await record_of(store) == before

    async def test_the_time_is_the_stores_whenever_messages_were_said(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        times = [(await record_of(store)).updated_us]
        for n, at_us in enumerate((None, LONG_AGO_US, None, 4 * LONG_AGO_US, LONG_AGO_US, None)):
            for k in range(2):
                new = say(f"m{n}-{k}") if at_us is None else said(f"m{n}-{k}", at_us)
                await store.append(ADA, "s", [new])
                times.append((await record_of(store)).updated_us)
            clock.advance(1)
        assert times[-1] < times[0] + 60 * SECOND_US
        # To the second at least.
        assert all(after > before - SECOND_US for before, after in pairwise(times))
        rounds = times[2::2]
        assert all(after > before for before, after in pairwise(rounds))

    async def test_what_a_fork_shares_moves_only_the_time_of_who_wrote_it(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", id="f"))
        before = await record_of(store, "f")
        clock.advance(2)
        await store.update_message(ADA, "s", say("m1", "new"))
        await store.finish_deletions()
        assert (await record_of(store, "f")).updated_us == before.updated_us
        clock.advance(2)
        await grow(store, "f1", session="f")
        assert (await record_of(store, "f")).updated_us > (await record_of(store)).updated_us

    async def test_overlays_change_what_is_shown_and_nothing_that_was_written(
        self, store: AsyncStore, clock: Clock
    ) -> None:
        await grow(store, "m1", "m2")
        before = (await record_of(store)).updated_us
        clock.advance(2)
        await store.add_overlay(ADA, "s", cover("m1", "m1", id="o"))
        await store.undo_overlay(ADA, "s", "o")
        assert (await record_of(store)).updated_us == before


class AsyncActivityContract(AsyncContractBase):
    """A patch may say when a session was active."""

    @pytest.mark.parametrize("at_us", [LONG_AGO_US, 4 * LONG_AGO_US])
    async def test_a_patch_sets_the_time_of_activity(self, store: AsyncStore, at_us: int) -> None:
        await grow(store, "m1", "m2")
        version = (await record_of(store)).version
        record = (await store.update_session(ADA, "s", SessionPatch(active_us=at_us))).record
        assert (record.active_us, record.version) == (at_us, version + 1)
        assert record.updated_us != at_us
        assert await record_of(store) == record
        await store.finish_deletions()
        assert await record_of(store) == record
        await store.checkout(ADA, "s", "m1")
        await store.update_session(ADA, "s", SessionPatch(title="t"))
        assert (await record_of(store)).active_us == at_us

    async def test_the_next_append_is_activity_again(self, store: AsyncStore, clock: Clock) -> None:
        [one] = await grow(store, "m1")
        await store.update_session(ADA, "s", SessionPatch(active_us=LONG_AGO_US))
        for id in ("m2", "m3"):
            [new] = await grow(store, id)
            record = await record_of(store)
            assert record.active_us == new.created_us >= one.created_us
        clock.advance(2)
        [new] = await grow(store, "m4")
        assert (await record_of(store)).active_us == new.created_us

    async def test_activity_that_comes_along_with_an_append_holds(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        patch = SessionPatch(active_us=LONG_AGO_US)
        await store.append(ADA, "s", [say("m2")], patch=patch)
        assert (await record_of(store)).active_us == LONG_AGO_US
        patch = SessionPatch(active_us=2 * LONG_AGO_US, system=SystemPatch(life=1))
        await store.append(ADA, "s", [say("m3"), say("m4")], patch=patch, documents=[_document()])
        record = await record_of(store)
        assert (record.active_us, record.system.life) == (2 * LONG_AGO_US, 1)
        await store.update_message(ADA, "s", say("m4", "new"), patch=SessionPatch(active_us=7))
        assert (await record_of(store)).active_us == 7

    async def test_lists_are_in_the_order_of_the_activity_that_is_said(
        self, store: AsyncStore
    ) -> None:
        for id in "abc":
            await grow(store, f"{id}1", session=id)
        for id, at_us in (("a", 4 * LONG_AGO_US), ("c", LONG_AGO_US)):
            await store.update_session(ADA, id, SessionPatch(active_us=at_us))
        assert await listed(store, order="active") == ["a", "b", "c"]
        assert await listed(store, order="active", limit=1) == ["a", "b", "c"]
        until = datetime.fromtimestamp(LONG_AGO_US / SECOND_US + 1, UTC)
        assert await listed(store, active_until=until) == ["c"]
        assert await listed(store, active_from=until) == ["a", "b"]
        fork = await store.create_session(ADA, fork_of("c", id="d"))
        assert fork.active_us > LONG_AGO_US
        assert await store.admin.check() == []
