"""Finding where messages stand, by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ...base.refusals import no_message
from ..lookup import spotted_by
from ..state import Spotted, State
from ..stored import Key, id_key
from ..told import BehindError
from .desk import AsyncDesk


async def find_spots(desk: AsyncDesk, state: State, ids: Iterable[str]) -> dict[str, Spotted]:
    """Find where messages stand that a session sees, deleted or not: one probe for each home."""
    [found] = await find_spots_in(desk, [(state, list(ids))])
    return found


async def find_spots_in(
    desk: AsyncDesk, asked: Sequence[tuple[State, Sequence[str]]]
) -> list[dict[str, Spotted]]:
    """Find where messages of several sessions stand, with one look for all of them."""
    probes = [_probes(state, ids) for state, ids in asked]
    keys = [key for some in probes for _, _, key in some]
    answers = iter(await desk.log.get(keys) if keys else [])
    found: list[dict[str, Spotted]] = []
    for (state, ids), some in zip(asked, probes, strict=True):
        spots = {id: state.recent[id] for id in ids if id in state.recent}
        inherited: dict[str, list[Spotted]] = {}
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
        await _add_inherited(desk, state, spots, inherited)
        found.append(spots)
    return found


def _probes(state: State, ids: Iterable[str]) -> list[tuple[str, str, Key]]:
    """Give the look-ups of ids that are not recent: the id, the home, and the name."""
    homes = [(state.log, state.epoch), *(state.homes if state.fork else [])]
    return [
        (id, log, id_key(state.tree, log, epoch, id))
        for id in dict.fromkeys(ids)
        if id not in state.recent
        for log, epoch in homes
    ]


async def _add_inherited(
    desk: AsyncDesk, state: State, found: dict[str, Spotted], inherited: dict[str, list[Spotted]]
) -> None:
    """Add what stands on the path to the fork point, of ids that are not the session's own."""
    if all(id in found for id in inherited):
        return
    view = await desk.view(state)
    for id, spots in inherited.items():
        for spotted in spots:
            if id not in found and view.on_path(spotted.place, state.fork):
                found[id] = spotted


async def get_spot(desk: AsyncDesk, state: State, id: str) -> Spotted:
    """Get where a message stands that a session sees."""
    found = await find_spots(desk, state, [id])
    if id not in found:
        raise no_message(state.session, id)
    return found[id]
