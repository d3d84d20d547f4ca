"""Reading: paths, leaves, children, limits and windows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ...errors import NotFoundError
from ...model import ROOT, Read, Root
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say, shown
from .base import AsyncContractBase, grow, history_of, record_of, shown_in


class AsyncReadContract(AsyncContractBase):
    """A history is a path, read as one snapshot."""

    async def test_an_empty_session_has_an_empty_history(self, store: AsyncStore) -> None:
        await grow(store)
        history = await history_of(store)
        assert (history.entries, history.leaf, history.tip) == ([], ROOT, ROOT)
        assert (history.context_tokens, history.more, history.bytes) == (0, False, 0)

    async def test_a_history_tells_its_leaf_its_tip_and_its_size(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3", tokens=5)
        history = await history_of(store, leaf="m2")
        assert (shown(history), history.leaf, history.tip) == (["m1", "m2"], "m2", "m3")
        assert (history.context_tokens, history.more) == (10, False)
        assert history.bytes > 0

    async def test_reading_at_the_root_is_empty(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        history = await history_of(store, leaf=ROOT)
        assert (history.entries, history.leaf, history.tip) == ([], ROOT, "m1")

    async def test_rule_07_an_unknown_leaf_is_an_error(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1"))
        for session, leaf in [("s", "nothing"), ("fork", "m2")]:
            with pytest.raises(NotFoundError) as raised:
                await history_of(store, session, leaf=leaf)
            assert (raised.value.kind, raised.value.id) == ("message", leaf)

    async def test_every_branch_can_be_read_by_its_leaf(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.append(ADA, "s", [say("a1"), say("a2")], parent="m1")
        await store.append(ADA, "s", [say("b1")], parent="a1")
        assert await shown_in(store) == ["m1", "a1", "b1"]
        assert await shown_in(store, leaf="a2") == ["m1", "a1", "a2"]
        assert await shown_in(store, leaf="m3") == ["m1", "m2", "m3"]

    async def test_a_path_through_many_branches_is_read_whole(self, store: AsyncStore) -> None:
        """Regenerate at each turn: every message lies in a segment of its own."""
        await grow(store, "m0", "x0")
        for n in range(1, 150):
            messages = [say(f"m{n}", tokens=1), say(f"x{n}", tokens=1)]
            await store.append(ADA, "s", messages, parent=f"m{n - 1}")
        expected = [*(f"m{n}" for n in range(150)), "x149"]
        history = await history_of(store)
        assert (shown(history), history.context_tokens) == (expected, 151)
        assert await shown_in(store, backwards=True, limit=70) == expected[-70:]
        assert await shown_in(store, after=60, before=90) == expected[60:89]
        assert await shown_in(store, leaf="x3") == ["m0", "m1", "m2", "m3", "x3"]
        assert (await store.append(ADA, "s", [say("m3")])).written == 0
        await store.add_overlay(ADA, "s", cover("m2", "m140", id="o1"))
        assert await shown_in(store) == ["m0", "m1", "<o1>", *expected[141:]]
        await store.create_session(ADA, fork_of("s", "m80"))
        assert await shown_in(store, "fork") == expected[:81]


class AsyncWindowContract(AsyncContractBase):
    """Limits and windows cut a history, and say so."""

    @pytest.mark.parametrize(
        ("query", "expected", "more"),
        [
            ({}, "123456789", False),
            ({"limit": 9}, "123456789", False),
            ({"limit": 8}, "12345678", True),
            ({"limit": 2}, "12", True),
            ({"limit": 2, "backwards": True}, "89", True),
            ({"limit": 20, "backwards": True}, "123456789", False),
            ({"after": 3}, "456789", False),
            ({"before": 3}, "12", False),
            ({"after": 3, "before": 6}, "45", False),
            ({"after": 3, "before": 4}, "", False),
            ({"after": 6, "before": 3}, "", False),
            ({"after": 9}, "", False),
            ({"after": 3, "limit": 2}, "45", True),
            ({"after": 3, "limit": 2, "backwards": True}, "89", True),
            ({"before": 6, "limit": 2, "backwards": True}, "45", True),
            ({"after": 2, "before": 6, "limit": 3, "backwards": True}, "345", False),
            ({"before": 1000, "after": 0}, "123456789", False),
        ],
    )
    async def test_a_window_and_a_limit(
        self, store: AsyncStore, query: dict[str, Any], expected: str, more: bool
    ) -> None:
        await grow(store, *"123", tokens=2)
        await store.append(ADA, "s", [say(id, tokens=2) for id in "xy"])
        await store.append(ADA, "s", [say(id, tokens=2) for id in "456789"], parent="3")
        history = await store.read(ADA, "s", Read(**query))
        assert (shown(history), history.more) == (list(expected), more)
        assert history.context_tokens == 18

    async def test_deleted_messages_do_not_count_to_a_limit(self, store: AsyncStore) -> None:
        await grow(store, *"123456")
        await store.delete_messages(ADA, "s", ["2", "3", "6"])
        cases: list[tuple[dict[str, Any], Any, bool]] = [
            ({"limit": 2}, "14", True),
            ({"limit": 3}, "145", False),
            ({"limit": 2, "backwards": True}, "45", True),
            ({"limit": 1, "backwards": True}, "5", True),
            ({"limit": 1, "after": 4}, "5", False),
            ({"limit": 1, "before": 4}, "1", False),
        ]
        for query, expected, more in cases:
            history = await store.read(ADA, "s", Read(**query))
            assert (shown(history), history.more) == (list(expected), more)

    async def test_bytes_are_those_of_the_entries_given(self, store: AsyncStore) -> None:
        await grow(store)
        for n in range(1, 5):
            await store.append(ADA, "s", [say(f"m{n}", "x" * 100 * n)])
        each = [(await history_of(store, after=n - 1, before=n + 1)).bytes for n in range(1, 5)]
        assert [later - size for size, later in pairwise(each)] == [100] * 3
        assert (await history_of(store)).bytes == sum(each)
        assert (await history_of(store, limit=2, backwards=True)).bytes == each[2] + each[3]

    async def test_max_bytes_cuts_and_at_least_one_entry_is_given(self, store: AsyncStore) -> None:
        await grow(store)
        for id in "1234":
            await store.append(ADA, "s", [say(id, id * 100)])
        size = (await history_of(store, limit=1)).bytes
        for limit, forwards, backwards in [
            (1, "1", "4"),
            (size, "1", "4"),
            (size * 2 - 1, "1", "4"),
            (size * 2, "12", "34"),
            (size * 4 - 1, "123", "234"),
            (size * 4, "1234", "1234"),
        ]:
            history = await history_of(store, max_bytes=limit)
            assert (shown(history), history.more) == (list(forwards), forwards != "1234")
            history = await history_of(store, max_bytes=limit, backwards=True)
            assert (shown(history), history.more) == (list(backwards), backwards != "1234")
        assert await shown_in(store, max_bytes=size * 3, limit=2) == ["1", "2"]
        assert await shown_in(store, max_bytes=1, after=4) == []

    async def test_a_summary_counts_as_one_entry_and_lies_where_its_range_lies(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123456")
        await store.add_overlay(ADA, "s", cover("2", "4", id="o"))
        cases: list[tuple[dict[str, Any], Any, bool]] = [
            ({}, ["1", "<o>", "5", "6"], False),
            ({"limit": 2}, ["1", "<o>"], True),
            ({"limit": 3, "backwards": True}, ["<o>", "5", "6"], True),
            ({"after": 3}, ["<o>", "5", "6"], False),
            ({"after": 4}, ["5", "6"], False),
            ({"before": 3}, ["1", "<o>"], False),
            ({"before": 2}, ["1"], False),
            ({"after": 2, "before": 4}, ["<o>"], False),
            ({"overlays": False}, list("123456"), False),
        ]
        for query, expected, more in cases:
            history = await store.read(ADA, "s", Read(**query))
            assert (shown(history), history.more) == (expected, more)


class AsyncTreeContract(AsyncContractBase):
    """Children and leaves are those that the session sees."""

    async def test_children_are_live_messages_right_after_one(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.append(ADA, "s", [say("a")], parent="m1")
        await store.append(ADA, "s", [say("r")], parent=ROOT)
        cases: list[tuple[str | Root, set[str]]] = [
            (ROOT, {"m1", "r"}),
            ("m1", {"m2", "a"}),
            ("m3", set()),
        ]
        for message, expected in cases:
            found = await store.list_children(ADA, "s", message)
            assert {child.id for child in found} == expected
        await store.delete_messages(ADA, "s", ["m2", "m1"])
        assert ids_of(await store.list_children(ADA, "s", "m1")) == ["a"]
        assert ids_of(await store.list_children(ADA, "s", "m2")) == ["m3"]

    async def test_rule_07_children_of_an_unknown_message_are_an_error(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        with pytest.raises(NotFoundError) as raised:
            await store.list_children(ADA, "s", "nothing")
        assert (raised.value.kind, raised.value.id) == ("message", "nothing")

    async def test_a_fork_and_its_source_see_their_own_children(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1"))
        await grow(store, "f1", session="fork")
        assert ids_of(await store.list_children(ADA, "s", "m1")) == ["m2"]
        assert ids_of(await store.list_children(ADA, "fork", "m1")) == ["f1"]

    async def test_leaves_are_the_ends_of_all_branches(self, store: AsyncStore) -> None:
        assert await grow(store) == []
        assert await store.list_leaves(ADA, "s") == []
        messages = await grow(store, "m1", "m2")
        await store.append(ADA, "s", [say("a")], parent="m1")
        await store.append(ADA, "s", [say("r")], parent=ROOT)
        await store.checkout(ADA, "s", "m1")
        leaves = {leaf.id: leaf for leaf in await store.list_leaves(ADA, "s")}
        assert set(leaves) == {"m2", "a", "r"}
        assert (leaves["m2"].position, leaves["m2"].message) == (messages[1].position, messages[1])

    async def test_a_deleted_leaf_is_listed_without_its_message(self, store: AsyncStore) -> None:
        [_, two] = await grow(store, "m1", "m2")
        await store.delete_messages(ADA, "s", ["m2"])
        [leaf] = await store.list_leaves(ADA, "s")
        assert (leaf.id, leaf.position, leaf.message) == ("m2", two.position, None)

    async def test_the_gaps_of_a_path_are_what_was_deleted_there(self, store: AsyncStore) -> None:
        messages = await grow(store, *[f"m{n}" for n in range(1, 7)])
        await store.append(ADA, "s", [say("x3"), say("x4")], parent="m2")
        await store.create_session(ADA, fork_of("s", "m5"))
        await store.append(ADA, "fork", [say("f4"), say("f5")], parent="m3")
        await store.delete_messages(ADA, "s", ["m2", "x3", "m4", "m5"])
        await store.delete_messages(ADA, "fork", ["f5"])
        assert await self._gaps(store, "s", "m6") == ["m2 of s", "m4 of s", "m5 of s"]
        assert await self._gaps(store, "s", "m4") == ["m2 of s", "m4 of s"]
        assert await self._gaps(store, "s", "x4") == ["m2 of s", "x3 of s"]
        assert await self._gaps(store, "s", "x4", after=2) == ["x3 of s"]
        for after in (5, 2**62):
            assert await self._gaps(store, "s", "m6", after=after) == []
        assert await self._gaps(store, "fork", "f5") == ["m2 of s", "f5 of fork"]
        [_, gap] = await store.list_gaps(ADA, "fork", "m4")
        assert gap.position == messages[3].position
        await store.delete_session(ADA, "s")
        assert await self._gaps(store, "fork", "m5", after=3) == ["m4 of None", "m5 of None"]

    async def test_a_detached_fork_keeps_the_gaps(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.delete_messages(ADA, "s", ["m2"])
        await store.create_session(ADA, fork_of("s", detach=True))
        assert await self._gaps(store, "fork", "m3") == ["m2 of fork"]

    async def test_rule_07_gaps_of_an_unknown_leaf_are_an_error(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1"))
        with pytest.raises(NotFoundError) as raised:
            await store.list_gaps(ADA, "fork", "m2")
        assert (raised.value.kind, raised.value.id) == ("message", "m2")

    async def _gaps(
        self, store: AsyncStore, session: str, leaf: str, *, after: int = 0
    ) -> list[str]:
        gaps = await store.list_gaps(ADA, session, leaf, after=after)
        return [f"{gap.id} of {gap.home}" for gap in gaps]

    async def test_a_fork_point_is_a_leaf_until_something_follows_it(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.create_session(ADA, fork_of("s", "m2"))
        assert [leaf.id for leaf in await store.list_leaves(ADA, "fork")] == ["m2"]
        await store.append(ADA, "fork", [say("f1")], parent="m1")
        assert {leaf.id for leaf in await store.list_leaves(ADA, "fork")} == {"m2", "f1"}
        await store.append(ADA, "fork", [say("f2")], parent="m2")
        assert {leaf.id for leaf in await store.list_leaves(ADA, "fork")} == {"f1", "f2"}
        assert [leaf.id for leaf in await store.list_leaves(ADA, "s")] == ["m3"]

    async def test_context_tokens_of_the_record_are_those_of_the_history_at_the_tip(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3", tokens=7)
        for tip in ("m1", ROOT, "m3"):
            record = await store.checkout(ADA, "s", tip)
            assert record.context_tokens == (await history_of(store)).context_tokens
            assert record == await record_of(store)
