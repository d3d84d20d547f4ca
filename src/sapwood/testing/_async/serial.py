"""Calls of all kinds at once: some serial order explains all that callers were told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any, ClassVar

from ...errors import SapwoodError
from ...model import Message, Root, SessionPatch, SessionQuery
from ...store import AsyncStore
from ..counts import COUNTS
from ..makers import ADA, cover, fork_of, say
from ..serial import MESSAGES, SESSIONS, Call, Stored, Told, draw_calls, explain
from ..twin import AsyncTwin
from .base import AsyncContractBase, grow, history_of, record_of


class AsyncSerialContract(AsyncContractBase):
    """Rule 6 for calls that differ. Set `serial_runs` to try harder."""

    serial_runs: ClassVar[int] = 8

    async def test_rule_06_some_serial_order_explains_calls_of_all_kinds(
        self, store: AsyncStore
    ) -> None:
        for run in range(self.serial_runs):
            await run_calls_of_all_kinds([store], f"{ADA}-{run}", run)


async def run_calls_of_all_kinds(stores: Sequence[AsyncStore], owner: str, seed: int) -> None:
    """Let three writers act at once, by stores in turn, and see that an order explains it."""
    COUNTS[f"runs with calls of all kinds, {AsyncTwin.name}"] += 1
    await grow(stores[0], *MESSAGES, owner=owner)
    await stores[0].create_session(owner, fork_of("s", "m1", id="f"))
    begun = {id: (await record_of(stores[0], id, owner)).version for id in SESSIONS}
    dice = Random(seed)
    works = [draw_calls(dice, writer, 3) for writer in range(3)]
    jobs = [
        partial(_carry_out, stores[writer % len(stores)], owner, calls, begun)
        for writer, calls in enumerate(works)
    ]
    told = await AsyncTwin.together(jobs)
    stored = await _all_stored(stores[-1], owner)
    assert explain(told, stored) is not None, f"nothing explains {told} and {stored}"


async def _carry_out(
    store: AsyncStore, owner: str, calls: list[Call], begun: dict[str, int]
) -> list[Told]:
    return [Told(call, await _answer(store, owner, call, begun)) for call in calls]


async def _answer(store: AsyncStore, owner: str, call: Call, begun: dict[str, int]) -> Any:
    try:
        return await _carry_out_one(store, owner, call, begun)
    except SapwoodError as error:
        return type(error)


async def _carry_out_one(store: AsyncStore, owner: str, call: Call, begun: dict[str, int]) -> Any:
    session = call.session
    match call.kind:
        case "append":
            options: dict[str, Any] = {"parent": call.parent, "expected_tip": call.expected_tip}
            batch = [say(call.value, tokens=1)]
            done = await store.append(owner, session, batch, **options)
            return done.written, done.tip
        case "checkout":
            return (await store.checkout(owner, session, call.value)).tip
        case "clear":
            return (await store.clear_session(owner, session)).version - begun[session]
        case "cover":
            new = cover("m0", "m1", id=call.value)
            return (await store.add_overlay(owner, session, new)).covered_tokens
        case "delete":
            return (await store.delete_messages(owner, session, [call.value])).ids
        case "erase":
            return await store.delete_session(owner, session)
        case "fork":
            return _id((await store.create_session(owner, fork_of(session, id=call.value))).tip)
        case "rename":
            patch = SessionPatch(title=call.value)
            renamed = await store.update_session(owner, session, patch)
            return renamed.record.version - begun[session]


async def _all_stored(store: AsyncStore, owner: str) -> dict[str, Stored]:
    page = await store.list_sessions(owner, SessionQuery(limit=100))
    found: dict[str, Stored] = {}
    for record in page.sessions:
        history = await history_of(store, record.id, owner)
        names = (
            ("message", it.id) if isinstance(it, Message) else ("overlay", it.overlay.id)
            for it in history.entries
        )
        leaves = await store.list_leaves(owner, record.id)
        found[record.id] = Stored(
            _id(record.tip), tuple(names), frozenset(it.id for it in leaves), record.messages
        )
    return found


def _id(place: str | Root) -> str | None:
    return None if isinstance(place, Root) else place
