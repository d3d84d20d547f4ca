"""What a unit of work makes of a log's state: pure, so that all who read a log agree on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...rules.tree import Place
from .place import from_wire, log_of, number_of
from .state import (
    MOST_STRETCHES,
    NO_PROFILE,
    Edited,
    Kept,
    Laid,
    Pinned,
    Segment,
    Spotted,
    State,
    Stretch,
)
from .work import (
    AddUsage,
    Advance,
    Append,
    Change,
    Clear,
    Cover,
    DropDocument,
    Edit,
    Erase,
    Move,
    Page,
    Pin,
    PutDocument,
    Register,
    Retire,
    Skip,
    Spot,
    Swept,
    Trim,
    Uncover,
    Wipe,
    Work,
)

PINS = "pins"


def fold(state: State, work: Work) -> State:
    """Give the state after the next record."""
    after: State = _FOLDS[type(work)](replace(state, n=state.n + 1), work)
    return after


def version_at(state: State, n: int) -> int:
    """Give the version of a document that was put by a record: higher than any of its name."""
    return state.k << 32 | n


def turn_page(before: State, after: State) -> State:
    """Give the state after a page: what the state before it left to be done was done."""
    n = after.n
    return replace(
        after,
        page=n,
        recent={id: it for id, it in after.recent.items() if it.n == n},
        recent_usage={id: it for id, it in after.recent_usage.items() if it == n},
        litter=after.litter[len(before.litter) :],
        foreign={at: it for at, it in after.foreign.items() if at not in before.foreign},
    )


def _append(state: State, work: Append) -> State:
    segments = list(state.segments)
    last = work.first + len(work.said) - 1
    if work.is_new:
        segments.append(Segment(from_wire(work.parent, state.log), last))
    else:
        segments[work.number - 1] = segments[work.number - 1]._replace(last=last)
    segment = state.own(work.number)
    recent = {
        said.id: Spotted(Place(segment, depth), state.n)
        for depth, said in enumerate(work.said, work.first)
    }
    stretch = Stretch(work.number, work.first, last, state.n)
    return replace(
        state,
        tail=(*state.tail[1 - MOST_STRETCHES :], stretch),
        segments=segments,
        recent=state.recent | recent,
        tip=Place(segment, last),
        tip_id=work.said[-1].id,
        tip_base=work.base + sum(said.tokens for said in work.said),
        messages=state.messages + len(work.said),
        active_us=work.said[-1].created_us,
    )


def _edit(state: State, work: Edit) -> State:
    edited = Edited(state.n, work.tokens - work.original, False, work.appended)
    litter = _superseded(state, work.number, work.depth, work.appended)
    return _edited(state, work.number, work.depth, edited, litter)


def _edited(
    state: State, number: int, depth: int, edited: Edited, litter: list[tuple[int, int]]
) -> State:
    of_segment = state.edits.get(number, {}) | {depth: edited}
    edits = state.edits | {number: of_segment}
    return replace(state, edits=edits, litter=[*state.litter, *litter])


def _superseded(state: State, number: int, depth: int, appended: int) -> list[tuple[int, int]]:
    """Give where the present content of a message is."""
    before = state.edits.get(number, {}).get(depth)
    return [(appended, depth)] if before is None else [(before.n, 0)]


def _erase(state: State, work: Erase) -> State:
    for spot in work.spots:
        place = from_wire(spot.place, state.log)
        assert place is not None
        if log_of(place.segment) == state.log:
            state = _erase_own(state, spot, place)
        else:
            what = (spot.tokens, spot.appended, spot.id)
            state = replace(state, foreign=state.foreign | {place: what})
    return state


def _erase_own(state: State, spot: Spot, place: Place) -> State:
    number = number_of(place.segment)
    before = state.edits.get(number, {}).get(place.depth)
    if before is not None and before.is_erased:
        return state
    litter = _superseded(state, number, place.depth, spot.appended)
    edited = Edited(state.n, -spot.tokens, True, spot.appended)
    after = _edited(state, number, place.depth, edited, litter)
    return replace(after, messages=state.messages - (number > state.retired))


def _change(state: State, work: Change) -> State:
    return replace(state, profile=work.profile, version=state.version + 1)


def _move(state: State, work: Move) -> State:
    return replace(state, tip=from_wire(work.tip, state.log), tip_id=work.id, tip_base=work.base)


def _cover(state: State, work: Cover) -> State:
    first, last = from_wire(work.first, state.log), from_wire(work.last, state.log)
    assert first is not None
    assert last is not None
    laid = Laid(
        stamp=work.stamp,
        log=state.log,
        n=state.n,
        id=work.id,
        first=first,
        last=last,
        above=work.above,
        base=work.base,
        tokens=work.tokens,
    )
    return replace(state, overlays=[*state.overlays, laid])


def _uncover(state: State, work: Uncover) -> State:
    return replace(state, overlays=[it for it in state.overlays if it.stamp != work.stamp])


def _put_document(state: State, work: PutDocument) -> State:
    kept = Kept(version_at(state, state.n), state.n, work.updated_us, work.expires_us)
    documents = state.documents | {work.key: kept}
    return replace(state, documents=documents, litter=_without_value(state, work.key))


def _drop_document(state: State, work: DropDocument) -> State:
    documents = {key: it for key, it in state.documents.items() if key != work.key}
    return replace(state, documents=documents, litter=_without_value(state, work.key))


def _without_value(state: State, key: str) -> list[tuple[int, int]]:
    kept = state.documents.get(key)
    return state.litter if kept is None or kept.n < 0 else [*state.litter, (kept.n, 0)]


def _add_usage(state: State, work: AddUsage) -> State:
    held = state.totals.get(work.model, (0,) * 6)
    summed = tuple(a + b for a, b in zip(held, (1, *work.figures), strict=True))
    return replace(
        state,
        totals=state.totals | {work.model: summed},
        usages=[*state.usages, state.n],
        recent_usage=state.recent_usage | {work.id: state.n},
    )


def _pin(state: State, work: Pin) -> State:
    pinned = Pinned(work.shard, work.entry, work.log, from_wire(work.at, state.log))
    return replace(state, pins=[*state.pins, pinned])


def _clear(state: State, work: Clear) -> State:
    documents = {
        key: it for key, it in state.documents.items() if key != PINS and it.expires_us is None
    }
    return replace(_without_messages(state), documents=documents, version=state.version + 1)


def _retire(state: State, work: Retire) -> State:
    return replace(
        _without_messages(state),
        is_alive=False,
        owner="",
        session="",
        ended_us=work.at_us,
        profile=NO_PROFILE,
        parent=None,
        totals={},
        usages=[],
        recent_usage={},
    )


def _without_messages(state: State) -> State:
    return replace(
        state,
        tip=None,
        tip_id=None,
        tip_base=0,
        fork=None,
        fork_id=None,
        marks=[*state.marks, len(state.segments)],
        messages=0,
        overlays=[],
        recent={},
        tail=(),
        is_unswept=True,
    )


def _swept(state: State, work: Swept) -> State:
    if state.is_alive:
        return replace(state, is_unswept=False)
    return replace(state, is_unswept=False, documents={}, copies=[])


def _page(state: State, work: Page) -> State:
    return state if work.active_us is None else replace(state, active_us=work.active_us)


def _skip(state: State, work: Skip) -> State:
    return replace(state, n=work.n)


def _advance(state: State, work: Advance) -> State:
    return replace(state, seen=state.seen | {log: last for _, _, log, _, last in work.parts})


def _register(state: State, work: Register) -> State:
    return replace(state, readers=state.readers | {work.reader: work.n})


def _trim(state: State, work: Trim) -> State:
    return replace(state, trimmed=max(state.trimmed, work.n))


def _wipe(state: State, work: Wipe) -> State:
    return State(tree=state.tree, log=state.log, n=state.n, trimmed=state.n)


_FOLDS: dict[type, Callable[[State, Any], State]] = {
    Append: _append,
    Edit: _edit,
    Erase: _erase,
    Change: _change,
    Move: _move,
    Cover: _cover,
    Uncover: _uncover,
    PutDocument: _put_document,
    DropDocument: _drop_document,
    AddUsage: _add_usage,
    Pin: _pin,
    Clear: _clear,
    Retire: _retire,
    Swept: _swept,
    Page: _page,
    Skip: _skip,
    Advance: _advance,
    Register: _register,
    Trim: _trim,
    Wipe: _wipe,
}
