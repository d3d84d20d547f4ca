"""What is done beside the records, after their commit: by anybody, as often as they like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....errors import StoreCorruptError
from ....rules.tree import Place
from ..log_documents import LogDocument, lookups_of, record_key
from ..record import tidied
from ..state import LogState
from ..work import Erase, ErasedPlace, EraseField, log_of, number_of, to_wire

if TYPE_CHECKING:
    from .logs import AsyncLogs, Decision

AT_ONCE = 200
LOOKS = 5


async def finish_leftovers(logs: AsyncLogs, state: LogState) -> None:
    """Do all that a state says is left to be done."""
    await logs.driver.create_all(lookups_of(state))
    await erase_leftovers(logs, state)


async def erase_leftovers(logs: AsyncLogs, state: LogState) -> None:
    """Erase in other logs what was erased through this one, and clear up what is said no more."""
    if state.foreign:
        await _erase_in_others(logs, state)
    if state.foreign_fields:
        await _erase_fields_in_others(logs, state)
    if state.litter:
        await _tidy(logs, state)


async def _erase_in_others(logs: AsyncLogs, state: LogState) -> None:
    by_log: dict[str, list[Place]] = {}
    for place in state.foreign:
        by_log.setdefault(log_of(place.segment), []).append(place)
    for log, places in by_log.items():
        await _erase_in(logs, state, log, places)


async def _erase_in(logs: AsyncLogs, state: LogState, log: str, places: Sequence[Place]) -> None:
    async def decide(other: LogState) -> Decision[None]:
        spots = [_spot(state, place) for place in places if not _is_erased(other, place)]
        return Erase(state.active_us, spots) if spots else None, None

    other, _ = await logs.change_log(state.tree, log, decide)
    await _tidy(logs, other)


async def _erase_fields_in_others(logs: AsyncLogs, state: LogState) -> None:
    by_log: dict[tuple[str, str], list[Place]] = {}
    for place, field in state.foreign_fields:
        by_log.setdefault((log_of(place.segment), field), []).append(place)
    for (log, field), ends in by_log.items():
        await _erase_field_in(logs, state, log, field, ends)


async def _erase_field_in(
    logs: AsyncLogs, state: LogState, log: str, field: str, ends: Sequence[Place]
) -> None:
    async def decide(other: LogState) -> Decision[None]:
        left = [to_wire(it, log) for it in ends if not _has_erased(other, field, it)]
        return EraseField(state.active_us, field, left) if left else None, None

    other, _ = await logs.change_log(state.tree, log, decide)
    await _tidy(logs, other)


def _has_erased(state: LogState, field: str, end: Place) -> bool:
    fields = state.erased_fields.get(number_of(end.segment), {})
    return fields.get(field, 0) >= end.depth


def _spot(state: LogState, place: Place) -> ErasedPlace:
    tokens, appended, id = state.foreign[place]
    return ErasedPlace(to_wire(place, log_of(place.segment)), appended, tokens, id, told=False)


def _is_erased(state: LogState, place: Place) -> bool:
    edited = state.edits.get(number_of(place.segment), {}).get(place.depth)
    return edited is not None and edited.is_erased


async def _tidy(logs: AsyncLogs, state: LogState) -> None:
    numbers = sorted({n for n, _ in state.litter})
    for start in range(0, len(numbers), AT_ONCE):
        await tidy_some(logs, state, numbers[start : start + AT_ONCE])


async def tidy_some(logs: AsyncLogs, state: LogState, numbers: Sequence[int]) -> None:
    """Rewrite records; look again afterwards, since another may have put an older one back."""
    keys = [record_key(state.tree, state.log, n) for n in numbers]
    for _ in range(LOOKS):
        found = [it for it in await logs.driver.get(keys) if it is not None]
        changed = [new for new in (_tidied(it, state) for it in found) if new is not None]
        if not changed:
            return
        await logs.driver.put(changed)
        [state] = await logs.catch_up([state])


def _tidied(stored: LogDocument, state: LogState) -> LogDocument | None:
    try:
        return tidied(stored, state)
    except StoreCorruptError:
        # Whoever reads it is told. It is said no more, and stops nobody who writes.
        return None
