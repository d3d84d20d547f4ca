"""An owner's documents, in one log or on shelves: where they are looked for and changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ....calls import AsyncAnswer
from ..shelves import is_full, is_on_shelf, shelf_log, shelf_number, together_log
from ..state import LogState
from ..work import OpenShelf
from .logs import AsyncLogs, Decision

T = TypeVar("T")


async def shelf_states(logs: AsyncLogs, owner: str) -> list[LogState]:
    """Return the states of all logs that have documents of an owner, or had, up to date."""
    log = together_log(owner)
    [together] = await logs.catch_up([await logs.load_or_begin(log, log)])
    names = [shelf_log(owner, number) for number in together.shelves]
    shelves = [await logs.load_or_begin(name, name) for name in names]
    return [together, *(await logs.catch_up(shelves) if shelves else [])]


async def shelf_logs(logs: AsyncLogs, owner: str) -> list[str]:
    """Return the names of all logs that have documents of an owner, or had."""
    log = together_log(owner)
    [together] = await logs.catch_up([await logs.load_or_begin(log, log)])
    return [log, *(shelf_log(owner, number) for number in together.shelves)]


async def state_with(logs: AsyncLogs, owner: str, key: str) -> LogState:
    """Return the state in which a document of an owner is, if there is one, up to date."""
    log = together_log(owner)
    together = await logs.load_or_begin(log, log)
    if not is_on_shelf(together, key):
        [together] = await logs.catch_up([together])
        if not is_on_shelf(together, key):
            return together
    shelf = shelf_log(owner, shelf_number(key))
    [state] = await logs.catch_up([await logs.load_or_begin(shelf, shelf)])
    return state


async def change_document(
    logs: AsyncLogs,
    owner: str,
    key: str,
    decide: Callable[[LogState], AsyncAnswer[Decision[T]]],
    *,
    is_put: bool,
) -> tuple[LogState, T]:
    """Decide by the state in which a document of an owner is, or is to be, and record it."""
    log = together_log(owner)

    async def decide_together(state: LogState) -> Decision[tuple[T] | None]:
        if is_on_shelf(state, key):
            return None, None
        if is_put and key not in state.documents and is_full(state):
            return OpenShelf(shelf_number(key)), None
        work, answer = await decide(state)
        return work, (answer,)

    if not is_on_shelf(await logs.load_or_begin(log, log), key):
        state, outcome = await logs.change_log(log, log, decide_together)
        if outcome is not None:
            return state, outcome[0]
    shelf = shelf_log(owner, shelf_number(key))
    return await logs.change_log(shelf, shelf, decide)
