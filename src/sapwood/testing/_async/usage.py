"""Usage and statistics: counted once, whatever is retried."""

from __future__ import annotations

import pytest

from ...errors import ConflictError
from ...model import SessionCount, Statistics, Usage, UsageTotal
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from .base import AsyncContractBase, grow, message_in, record_of

CALLS = [
    ("u9", "m2", "b"),
    ("u5", None, "a"),
    ("u7", "m2", "a"),
    ("u1", "m1", "b"),
    ("u2", "m2", "b"),
    ("u3", None, "a"),
    ("u0", None, "b"),
]
"""Calls by id, message and model: neither ids nor messages nor models come in their order."""

BY_MESSAGE = [("m2", "b", 2), (None, "a", 2), ("m2", "a", 1), ("m1", "b", 1), (None, "b", 1)]


def _call(id: str, message: str | None, model: str = "") -> Usage:
    return Usage(id=id, message=message, model=model, input_tokens=1)


async def _by_message(store: AsyncStore) -> list[tuple[str | None, str, int]]:
    totals = await store.total_usage(ADA, "s", by="message")
    assert [it.calls for it in totals] == [it.input_tokens for it in totals]
    return [(it.message, it.model, it.calls) for it in totals]


class AsyncUsageContract(AsyncContractBase):
    """Usage is rows keyed by an id."""

    async def test_rule_14_a_retry_does_not_count_twice(self, store: AsyncStore) -> None:
        await grow(store)
        usage = Usage(id="u1", model="m", input_tokens=10, output_tokens=5, cost_micros=7)
        assert await store.add_usage(ADA, "s", usage) is True
        assert await store.add_usage(ADA, "s", usage) is False
        [total] = await store.total_usage(ADA, "s")
        assert (total.model, total.calls, total.input_tokens) == ("m", 1, 10)
        assert (total.output_tokens, total.cost_micros) == (5, 7)

    async def test_rule_14_other_figures_under_a_known_id_are_a_conflict(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        await store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=10))
        for other in (
            Usage(id="u", model="m", input_tokens=11),
            Usage(id="u", model="n", input_tokens=10),
            Usage(id="u", model="m", input_tokens=10, message="m1"),
            Usage(id="u", model="m", input_tokens=10, cached_tokens=1),
        ):
            with pytest.raises(ConflictError):
                await store.add_usage(ADA, "s", other)
        [total] = await store.total_usage(ADA, "s")
        assert (total.calls, total.input_tokens) == (1, 10)

    async def test_totals_are_by_model(self, store: AsyncStore) -> None:
        await grow(store)
        for n, model in enumerate(["b", "a", "b", ""]):
            usage = Usage(
                id=f"u{n}",
                model=model,
                input_tokens=1,
                output_tokens=2,
                cached_tokens=3,
                reasoning_tokens=4,
                cost_micros=5,
            )
            await store.add_usage(ADA, "s", usage)
        totals = {total.model: total for total in await store.total_usage(ADA, "s")}
        assert {model: total.calls for model, total in totals.items()} == {"a": 1, "b": 2, "": 1}
        both = totals["b"]
        assert (both.input_tokens, both.output_tokens, both.cached_tokens) == (2, 4, 6)
        assert (both.reasoning_tokens, both.cost_micros) == (8, 10)

    async def test_an_owners_totals_are_those_of_all_sessions(self, store: AsyncStore) -> None:
        for session in ("s", "t"):
            await grow(store, session=session)
            for n, model in enumerate(["b", "a", "b"]):
                usage = Usage(
                    id=f"u{n}",
                    model=model,
                    input_tokens=1,
                    output_tokens=2,
                    cached_tokens=3,
                    cost_micros=5,
                )
                assert await store.add_usage(ADA, session, usage) is True
                assert await store.add_usage(ADA, session, usage) is False
        await grow(store, owner="bob")
        await store.add_usage("bob", "s", Usage(id="u", model="a", input_tokens=70))
        a, b = await store.total_owner_usage(ADA)
        assert (a.model, a.calls, a.input_tokens, a.output_tokens) == ("a", 2, 2, 4)
        assert (b.model, b.calls, b.cached_tokens, b.cost_micros) == ("b", 4, 12, 20)
        assert (a.message, b.reasoning_tokens) == (None, 0)

    async def test_an_owners_totals_go_with_its_sessions(self, store: AsyncStore) -> None:
        for session, model in (("s", "m"), ("t", "m"), ("u", "n")):
            await grow(store, session=session)
            await store.add_usage(ADA, session, Usage(id="u", model=model, input_tokens=3))
        await store.clear_session(ADA, "s")
        await store.create_session(ADA, fork_of("s"))
        await store.delete_session(ADA, "u")
        assert [(it.model, it.calls) for it in await store.total_owner_usage(ADA)] == [("m", 2)]
        await store.delete_session(ADA, "s")
        [left] = await store.total_owner_usage(ADA)
        assert (left.calls, left.input_tokens) == (1, 3)
        await store.erase_owner(ADA)
        assert await store.total_owner_usage(ADA) == []
        await grow(store, session="t")
        await store.add_usage(ADA, "t", Usage(id="u", model="m", input_tokens=4))
        assert [it.input_tokens for it in await store.total_owner_usage(ADA)] == [4]

    async def test_totals_by_model_name_no_message_and_come_by_name(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        for n, model in enumerate(["b", "é", "a", ""]):
            await store.add_usage(ADA, "s", Usage(id=f"u{n}", model=model, message="m1"))
        totals = await store.total_usage(ADA, "s")
        assert [(it.model, it.message) for it in totals] == [(m, None) for m in ("", "a", "b", "é")]
        assert await store.total_usage(ADA, "s", by="model") == totals

    async def test_totals_by_message_come_in_the_order_of_the_first_calls(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        for id, message, model in CALLS:
            await store.add_usage(ADA, "s", _call(id, message, model))
        assert await _by_message(store) == BY_MESSAGE

    async def test_rule_14_a_retry_leaves_the_order_by_message(self, store: AsyncStore) -> None:
        await grow(store)
        for id, message, model in CALLS:
            await store.add_usage(ADA, "s", _call(id, message, model))
            assert await store.add_usage(ADA, "s", _call(*CALLS[0])) is False
        assert await _by_message(store) == BY_MESSAGE

    async def test_totals_by_message_have_all_sums(self, store: AsyncStore) -> None:
        await grow(store)
        for n in range(2):
            usage = Usage(
                id=f"u{n}",
                model="m",
                message="m1",
                input_tokens=1,
                output_tokens=2,
                cached_tokens=3,
                reasoning_tokens=4,
                cost_micros=5,
            )
            await store.add_usage(ADA, "s", usage)
        assert await store.total_usage(ADA, "s", by="message") == [
            UsageTotal(
                model="m",
                message="m1",
                calls=2,
                input_tokens=2,
                output_tokens=4,
                cached_tokens=6,
                reasoning_tokens=8,
                cost_micros=10,
            )
        ]

    async def test_a_session_without_calls_has_no_totals(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        assert await store.total_usage(ADA, "s") == []
        assert await store.total_usage(ADA, "s", by="message") == []

    async def test_usage_may_name_a_message_that_is_not_stored_or_was_deleted(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.add_usage(ADA, "s", _call("u1", "m1"))
        await store.add_usage(ADA, "s", _call("u2", "still to come"))
        await store.delete_messages(ADA, "s", ["m1"])
        await store.finish_deletions()
        assert await _by_message(store) == [("m1", "", 1), ("still to come", "", 1)]

    async def test_totals_by_message_are_of_one_session(self, store: AsyncStore) -> None:
        await grow(store)
        for owner, session in ((ADA, "other"), ("bob", "s")):
            await grow(store, session=session, owner=owner)
            await store.add_usage(owner, session, _call("u", "m1"))
        assert await _by_message(store) == []
        await store.add_usage(ADA, "s", _call("u", "m2"))
        assert await _by_message(store) == [("m2", "", 1)]

    async def test_large_sums_are_exact(self, store: AsyncStore) -> None:
        await grow(store)
        for n in range(3):
            usage = Usage(id=f"u{n}", input_tokens=2**40, cost_micros=2**50)
            await store.add_usage(ADA, "s", usage)
        [total] = await store.total_usage(ADA, "s")
        assert (total.input_tokens, total.cost_micros) == (3 * 2**40, 3 * 2**50)

    async def test_ids_are_of_one_session(self, store: AsyncStore) -> None:
        await grow(store)
        await grow(store, session="other")
        assert await store.total_usage(ADA, "s") == []
        for session in ("s", "other"):
            assert await store.add_usage(ADA, session, Usage(id="u", input_tokens=1)) is True
        assert [t.input_tokens for t in await store.total_usage(ADA, "s")] == [1]

    async def test_usage_survives_a_clear_and_goes_with_the_session(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.add_usage(ADA, "s", Usage(id="u", message="m1", input_tokens=1))
        await store.clear_session(ADA, "s")
        assert len(await store.total_usage(ADA, "s")) == 1
        assert await store.add_usage(ADA, "s", Usage(id="u", message="m1", input_tokens=1)) is False
        await store.add_usage(ADA, "s", _call("t", "m0"))
        assert await _by_message(store) == [("m1", "", 1), ("m0", "", 1)]
        await store.delete_session(ADA, "s")
        await grow(store)
        assert await store.total_usage(ADA, "s") == []
        assert await _by_message(store) == []
        assert await store.add_usage(ADA, "s", _call("u", "m2")) is True
        assert await _by_message(store) == [("m2", "", 1)]


def _active_chats(count: int) -> list[SessionCount]:
    return [SessionCount(kind="chat", state="active", sessions=count)]


class AsyncStatisticsContract(AsyncContractBase):
    """Statistics count what an owner has, and are current after `finish_deletions`."""

    async def test_rule_14_nothing_is_counted_as_nothing(self, store: AsyncStore) -> None:
        assert await store.statistics(ADA) == Statistics(
            sessions=0, messages=0, overlays=0, documents=0
        )

    async def test_rule_14_statistics_are_current_after_finish_deletions(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"1234")
        await store.add_overlay(ADA, "s", cover("1", "2", id="o1"))
        await store.create_session(ADA, fork_of("s"))
        await grow(store, "f1", session="fork")
        await store.add_overlay(ADA, "fork", cover("3", "4", id="o2"))
        await store.put_document(ADA, "k", b"")
        await store.put_document(ADA, "k", b"", session="fork")
        await store.delete_messages(ADA, "s", ["4"])
        await grow(store, "x", session="x", owner="bob")
        await store.finish_deletions()
        assert await store.statistics(ADA) == Statistics(
            sessions=2, messages=4, overlays=2, documents=2, counts=_active_chats(2)
        )
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert await store.statistics(ADA) == Statistics(
            sessions=1, messages=4, overlays=2, documents=2, counts=_active_chats(1)
        )

    async def test_rule_14_live_messages_count_when_their_home_is_gone(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"12345")
        await store.append(ADA, "s", [say("x")], parent="1")
        await store.create_session(ADA, fork_of("s", "4", id="a"))
        await grow(store, "a1", session="a")
        await store.create_session(ADA, fork_of("a", "a1", id="b"))
        await store.delete_messages(ADA, "s", ["2"])
        for gone, left in (("s", 4), ("a", 4), ("b", 0)):
            await store.delete_session(ADA, gone)
            await store.finish_deletions()
            assert (await store.statistics(ADA)).messages == left
        assert (await store.statistics("bob")).messages == 0

    async def test_rule_14_what_a_fork_shares_counts_once_after_a_clear(
        self, store: AsyncStore
    ) -> None:
        await grow(store, *"123")
        for name in ("a", "b"):
            await store.create_session(ADA, fork_of("s", "2", id=name))
        await store.clear_session(ADA, "s")
        await grow(store, "new")
        await store.delete_messages(ADA, "a", ["1"])
        await store.finish_deletions()
        assert (await store.statistics(ADA)).messages == 2

    async def test_rule_14_settling_changes_nothing_that_is_stored(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", tokens=3)
        await store.create_session(ADA, fork_of("s"))
        await store.update_message(ADA, "s", say("m1", "new", tokens=9))
        before = await message_in(store, "m1")
        for _ in range(2):
            await store.finish_deletions()
            assert await message_in(store, "m1") == before
            assert (await record_of(store, "fork")).context_tokens == 12
            assert (await record_of(store)).context_tokens == 12
