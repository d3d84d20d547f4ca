"""Bringing all logs to where nothing is left to be done beside them."""

from __future__ import annotations

from msgspec.structs import replace

from ....errors import StoreCorruptError
from ..entry import Entry, entry_of, stored_entry
from ..state import State
from ..stored import owner_log
from ..work import Page
from .desk import AsyncDesk, Decision
from .documents import DOCUMENTS
from .feed import FEED, trim
from .sweep import sweep


async def settle(desk: AsyncDesk) -> None:
    """Finish what units of work left to be done, for all owners; then tell of damage."""
    damage: StoreCorruptError | None = None
    for stored in await desk.log.entries(None):
        try:
            await _settle_entry(desk, entry_of(stored))
        except StoreCorruptError as error:
            damage = damage or error
    if damage is not None:
        raise damage


async def _settle_entry(desk: AsyncDesk, entry: Entry | None) -> None:
    if entry is None or entry.ended:
        return
    if entry.session:
        await _settle_session(desk, entry)
    else:
        await settle_log(desk, owner_log(entry.owner, DOCUMENTS), "")
        await settle_log(desk, owner_log(entry.owner, FEED), "")
        await trim(desk, entry.owner)


async def _settle_session(desk: AsyncDesk, entry: Entry) -> None:
    state = await settle_log(desk, entry.tree, entry.log)
    if state.is_unswept:
        state = await sweep(desk, state)
    if not (state.is_alive or state.is_unswept):
        await desk.log.put([stored_entry(replace(entry, ended=state.n))])


async def settle_log(desk: AsyncDesk, tree: str, log: str) -> State:
    """Write a page where something is left to be done; that is done before the page is written."""

    async def decide(state: State) -> Decision:
        return Decision(None if state.is_settled else Page())

    return (await desk.change_log(tree, log or tree, decide)).state
