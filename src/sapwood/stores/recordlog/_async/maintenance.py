"""Bringing all logs to where nothing is left to be done beside them."""

from __future__ import annotations

from msgspec.structs import replace

from ....errors import StoreCorruptError
from ..entry import LogEntry, entry_of, stored_entry
from ..log_documents import owner_log
from ..state import LogState
from ..work import WritePage
from .documents import DOCUMENTS
from .feed import FEED, trim
from .logs import AsyncLogs, Decision
from .sweep import sweep


async def settle(logs: AsyncLogs) -> None:
    """Finish what units of work left to be done, for all owners; then tell of damage."""
    damage: StoreCorruptError | None = None
    for stored in await logs.driver.entries(None):
        try:
            await _settle_entry(logs, entry_of(stored))
        except StoreCorruptError as error:
            damage = damage or error
    if damage is not None:
        raise damage


async def _settle_entry(logs: AsyncLogs, entry: LogEntry | None) -> None:
    if entry is None or entry.ended:
        return
    if entry.session:
        await _settle_session(logs, entry)
    else:
        await settle_log(logs, owner_log(entry.owner, DOCUMENTS), "")
        await settle_log(logs, owner_log(entry.owner, FEED), "")
        await trim(logs, entry.owner)


async def _settle_session(logs: AsyncLogs, entry: LogEntry) -> None:
    state = await settle_log(logs, entry.tree, entry.log)
    if state.is_unswept:
        state = await sweep(logs, state)
    if not (state.is_alive or state.is_unswept):
        await logs.driver.put([stored_entry(replace(entry, ended=state.n))])


async def settle_log(logs: AsyncLogs, tree: str, log: str) -> LogState:
    """Write a page where something is left to be done; that is done before the page is written."""

    async def decide(state: LogState) -> Decision:
        return Decision(None if state.is_settled else WritePage())

    return (await logs.change_log(tree, log or tree, decide)).state
