"""Finding where messages stand, by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ...base.refusals import no_message
from ..errors import BehindError
from ..log_documents import LogKey, id_key
from ..lookup import spotted_by
from ..state import LogState, MessagePlace
from .logs import AsyncLogs


async def find_places(
    logs: AsyncLogs, state: LogState, ids: Iterable[str]
) -> dict[str, MessagePlace]:
    """Find where messages stand that a session sees, deleted or not: one probe for each home."""
    [found] = await find_places_in(logs, [(state, list(ids))])
    return found


async def find_places_in(
    logs: AsyncLogs, asked: Sequence[tuple[LogState, Sequence[str]]]
) -> list[dict[str, MessagePlace]]:
    """Find where messages of several sessions stand, with one look for all of them."""
    probes = [_probes(state, ids) for state, ids in asked]
    keys = [key for some in probes for _, _, key in some]
    answers = iter(await logs.driver.get(keys) if keys else [])
    found: list[dict[str, MessagePlace]] = []
    for (state, ids), some in zip(asked, probes, strict=True):
        spots = {id: state.recent[id] for id in ids if id in state.recent}
        inherited: dict[str, list[MessagePlace]] = {}
        for (id, log, _), stored in zip(some, islice(answers, len(some)), strict=True):
            if stored is None:
                continue
            spotted = spotted_by(stored, log)
            if log != state.log:
                inherited.setdefault(id, []).append(spotted)
            elif spotted.n > state.n:
                raise BehindError
            else:
                spots[id] = spotted
        await _add_inherited(logs, state, spots, inherited)
        found.append(spots)
    return found


def _probes(state: LogState, ids: Iterable[str]) -> list[tuple[str, str, LogKey]]:
    """Return the look-ups of ids that are not recent: the id, the home, and the name."""
    homes = [(state.log, state.epoch), *(state.homes if state.fork else [])]
    return [
        (id, log, id_key(state.tree, log, epoch, id))
        for id in dict.fromkeys(ids)
        if id not in state.recent
        for log, epoch in homes
    ]


async def _add_inherited(
    logs: AsyncLogs,
    state: LogState,
    found: dict[str, MessagePlace],
    inherited: dict[str, list[MessagePlace]],
) -> None:
    """Add what stands on the path to the fork point, of ids that are not the session's own."""
    if all(id in found for id in inherited):
        return
    view = await logs.view(state)
    for id, spots in inherited.items():
        for spotted in spots:
            if id not in found and view.on_path(spotted.place, state.fork):
                found[id] = spotted


async def get_place(logs: AsyncLogs, state: LogState, id: str) -> MessagePlace:
    """Get where a message stands that a session sees."""
    found = await find_places(logs, state, [id])
    if id not in found:
        raise no_message(state.session, id)
    return found[id]
