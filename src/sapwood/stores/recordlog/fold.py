"""What a unit of work makes of a log's state: pure, so that all who read a log agree on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from ...rules.tree import Place
from .state import (
    MOST_RECORD_SPANS,
    NO_PROFILE,
    BegunFork,
    Edited,
    KeptData,
    KeptDocument,
    LaidOverlay,
    LogSegment,
    LogState,
    MessagePlace,
    RecordSpan,
)
from .work import (
    AddOverlay,
    AddUsage,
    AdvanceFeed,
    Append,
    BeginFork,
    ChangeProfile,
    Clear,
    DropDocument,
    Edit,
    Erase,
    ErasedPlace,
    EraseField,
    ForgetReader,
    LogWork,
    MoveTip,
    NoteSwept,
    OpenShelf,
    PutDocument,
    RegisterReader,
    RenewDocument,
    Retire,
    RewriteData,
    SkipNumbers,
    TrimFeed,
    UndoOverlay,
    WipeLog,
    WritePage,
    from_wire,
    log_of,
    number_of,
)

PINS = "pins"


def fold(state: LogState, work: LogWork, also: Sequence[LogWork] = ()) -> LogState:
    """Return the state after the next record: all that it did has its number."""
    after: LogState = _FOLDS[type(work)](replace(state, n=state.n + 1), work)
    for it in also:
        after = _FOLDS[type(it)](after, it)
    return after


def first_version(k: int) -> int:
    """Return the version that the k-th session of a name begins with: above those before it."""
    return (k - 1) << 32 | 1


def version_at(state: LogState, n: int) -> int:
    """Return the version of a document that was put by a record: higher than any of its name."""
    return state.k << 32 | n


def turn_page(before: LogState, after: LogState) -> LogState:
    """Return the state after a page: what the state before it left to be done was done."""
    n = after.n
    return replace(
        after,
        page=n,
        recent={id: it for id, it in after.recent.items() if it.n == n},
        recent_usage={id: it for id, it in after.recent_usage.items() if it == n},
        litter=after.litter[len(before.litter) :],
        foreign={at: it for at, it in after.foreign.items() if at not in before.foreign},
        foreign_fields=after.foreign_fields[len(before.foreign_fields) :],
    )


def _append(state: LogState, work: Append) -> LogState:
    if work.clears:
        state = _clear(state, work)
    after = _appended(state, work)
    if work.data_at is not None:
        at = from_wire(work.data_at, state.log)
        after = replace(after, inherited_data=state.inherited_data | {work.number: at})
    kept = {
        depth: KeptData(state.n, it.is_mark)
        for depth, it in enumerate(work.messages, work.first)
        if it.data is not None
    }
    if not kept:
        return after
    versions = state.data.get(work.number, {}) | kept
    return replace(after, data=state.data | {work.number: versions})


def _appended(state: LogState, work: Append) -> LogState:
    segments = list(state.segments)
    last = work.first + len(work.messages) - 1
    if work.is_new:
        segments.append(LogSegment(work.parent and from_wire(work.parent, state.log), last))
    else:
        segments[work.number - 1] = segments[work.number - 1]._replace(last=last)
    segment = state.own(work.number)
    recent = {
        it.id: MessagePlace(Place(segment, depth), state.n)
        for depth, it in enumerate(work.messages, work.first)
    }
    said = [it for it in work.messages if not it.is_mark]
    stretch = RecordSpan(work.number, work.first, last, state.n)
    return replace(
        state,
        tail=(*state.tail[1 - MOST_RECORD_SPANS :], stretch),
        segments=segments,
        recent=state.recent | recent,
        tip=Place(segment, last),
        tip_id=work.messages[-1].id,
        tip_base=work.base + sum(it.tokens for it in said),
        messages=state.messages + len(said),
        active_us=said[-1].created_us if said else state.active_us,
        updated_us=work.at_us,
    )


def _edit(state: LogState, work: Edit) -> LogState:
    edited = Edited(state.n, work.tokens - work.original, False, work.appended)
    if work.as_it_lies:
        before = state.edits.get(work.number, {}).get(work.depth)
        edited = edited._replace(changed=0 if before is None else before.changed_by)
        return _edited(state, work.number, work.depth, edited)
    after = _edited(state, work.number, work.depth, edited)
    return replace(after, updated_us=work.at_us)


def _edited(state: LogState, number: int, depth: int, edited: Edited) -> LogState:
    """Let a message be as a record edited it; what it said until then is litter."""
    of_segment = state.edits.get(number, {})
    before = of_segment.get(depth)
    litter = (edited.appended, depth) if before is None else (before.n, 0)
    edits = state.edits | {number: of_segment | {depth: edited}}
    return replace(state, edits=edits, litter=[*state.litter, litter])


def _erase(state: LogState, work: Erase) -> LogState:
    for spot in work.spots:
        place = from_wire(spot.place, state.log)
        if log_of(place.segment) == state.log:
            state = _erase_own(state, spot, place)
        else:
            what = (spot.tokens, spot.appended, spot.id)
            state = replace(state, foreign=state.foreign | {place: what})
    is_asked = any(spot.told for spot in work.spots)
    return replace(state, updated_us=work.at_us) if is_asked else state


def _erase_own(state: LogState, spot: ErasedPlace, place: Place) -> LogState:
    number = number_of(place.segment)
    before = state.edits.get(number, {}).get(place.depth)
    if before is not None and before.is_erased:
        return state
    edited = Edited(state.n, -spot.tokens, True, spot.appended)
    after = _edited(state, number, place.depth, edited)
    return replace(after, messages=state.messages - (number > state.retired))


def _erase_field(state: LogState, work: EraseField) -> LogState:
    for wire in work.ends:
        end = from_wire(wire, state.log)
        if log_of(end.segment) == state.log:
            state = _erase_own_field(state, work.field, end)
        else:
            foreign = [*state.foreign_fields, (end, work.field)]
            state = replace(state, foreign_fields=foreign)
    return state


def _erase_own_field(state: LogState, field: str, end: Place) -> LogState:
    number = number_of(end.segment)
    fields = state.erased_fields.get(number, {})
    deepest = max(end.depth, fields.get(field, 0))
    versions = state.data.get(number, {})
    above = {depth: kept for depth, kept in versions.items() if depth <= end.depth}
    litter = [(kept.anew, 0) if kept.anew else (kept.n, depth) for depth, kept in above.items()]
    anew = {
        depth: kept._replace(erased=(*kept.erased, field))
        for depth, kept in above.items()
        if kept.anew
    }
    return replace(
        state,
        data=state.data | {number: versions | anew} if anew else state.data,
        erased_fields=state.erased_fields | {number: fields | {field: deepest}},
        litter=[*state.litter, *litter],
    )


def _rewrite_data(state: LogState, work: RewriteData) -> LogState:
    versions = state.data[work.number]
    kept = versions[work.depth]
    # In the order of their depths, by which the nearest is looked for.
    data = versions | {work.depth: kept._replace(anew=state.n, erased=())}
    litter = (kept.anew, 0) if kept.anew else (kept.n, work.depth)
    return replace(state, data=state.data | {work.number: data}, litter=[*state.litter, litter])


def _add_overlay(state: LogState, work: AddOverlay) -> LogState:
    laid = LaidOverlay(
        stamp=work.stamp,
        log=state.log,
        n=state.n,
        id=work.id,
        first=from_wire(work.first, state.log),
        last=from_wire(work.last, state.log),
        above=work.above,
        base=work.base,
        tokens=work.tokens,
    )
    if any(it.stamp == work.stamp for it in state.overlays):
        overlays = [laid if it.stamp == work.stamp else it for it in state.overlays]
        return replace(state, overlays=overlays)
    return replace(state, overlays=[*state.overlays, laid])


def _without_value(state: LogState, key: str) -> list[tuple[int, int]]:
    kept = state.documents.get(key)
    return state.litter if kept is None or kept.n < 0 else [*state.litter, (kept.n, 0)]


def _created_before(state: LogState, work: PutDocument) -> int | None:
    """Return when the document that one replaces was first put; an expired one is not there."""
    kept = state.documents.get(work.key)
    if kept is None or (kept.expires_us is not None and kept.expires_us <= work.updated_us):
        return None
    return kept.updated_us if kept.created_us is None else kept.created_us


def _add_usage(state: LogState, work: AddUsage) -> LogState:
    held = state.totals.get(work.model, (0,) * 6)
    summed = tuple(a + b for a, b in zip(held, (1, *work.figures), strict=True))
    return replace(
        state,
        totals=state.totals | {work.model: summed},
        usages=[*state.usages, state.n],
        recent_usage=state.recent_usage | {work.id: state.n},
    )


def _clear(state: LogState, work: Clear | Append) -> LogState:
    documents = {
        key: it
        for key, it in state.documents.items()
        if key != PINS and it.expires_us is None and it.inherit
    }
    cleared = replace(_without_messages(state), documents=documents, updated_us=work.at_us)
    return replace(cleared, version=state.version + 1)


def _retire(state: LogState, work: Retire) -> LogState:
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


def _without_messages(state: LogState) -> LogState:
    return replace(
        state,
        tip=None,
        tip_id=None,
        tip_base=0,
        fork=None,
        fork_id=None,
        fork_data=None,
        marks=[*state.marks, len(state.segments)],
        messages=0,
        overlays=[],
        recent={},
        tail=(),
        is_unswept=True,
    )


def _change_session(state: LogState, work: LogWork) -> LogState:
    """Fold what changes a little of a session's state."""
    match work:
        case PutDocument(as_it_lies=True):
            anew = state.documents[work.key]._replace(n=state.n)
            documents = state.documents | {work.key: anew}
            return replace(state, documents=documents, litter=_without_value(state, work.key))
        case PutDocument():
            version, n = version_at(state, state.n), state.n
            times, created = (work.updated_us, work.expires_us), _created_before(state, work)
            put = KeptDocument(version, n, *times, work.inherit, created)
            documents = state.documents | {work.key: put}
            return replace(state, documents=documents, litter=_without_value(state, work.key))
        case RenewDocument():
            renewed = state.documents[work.key]._replace(expires_us=work.expires_us)
            return replace(state, documents=state.documents | {work.key: renewed})
        case ChangeProfile(as_it_lies=True):
            return replace(state, profile=work.profile)
        case ChangeProfile():
            changed = replace(state, profile=work.profile, version=state.version + 1)
            active_us = state.active_us if work.active_us is None else work.active_us
            updated_us = work.at_us or state.updated_us
            return replace(changed, active_us=active_us, updated_us=updated_us)
        case MoveTip():
            tip = work.tip and from_wire(work.tip, state.log)
            moved = replace(state, tip=tip, tip_id=work.id, tip_base=work.base)
            updated_us = work.at_us or state.updated_us
            return replace(moved, version=state.version + 1, updated_us=updated_us)
        case UndoOverlay():
            return replace(state, overlays=[it for it in state.overlays if it.stamp != work.stamp])
        case DropDocument():
            documents = {key: it for key, it in state.documents.items() if key != work.key}
            return replace(state, documents=documents, litter=_without_value(state, work.key))
        case BeginFork():
            at = work.at and from_wire(work.at, state.log)
            begun = BegunFork(work.shard, work.entry, work.log, at)
            return replace(state, begun_forks=[*state.begun_forks, begun])
    return state


def _change_feed(state: LogState, work: LogWork) -> LogState:
    """Fold what moves the change feed of an owner's log on."""
    match work:
        case AdvanceFeed():
            seen = {log: last for _, _, log, _, last in work.parts}
            return replace(state, seen=state.seen | seen)
        case RegisterReader():
            return replace(state, readers=state.readers | {work.reader: work.n})
        case ForgetReader():
            left = {name: n for name, n in state.readers.items() if name != work.reader}
            return replace(state, readers=left)
        case TrimFeed():
            return replace(state, trimmed=max(state.trimmed, work.n))
    return state


def _change_log(state: LogState, work: LogWork) -> LogState:
    """Fold what changes a little of the state of any log: its pages, numbers and shelves."""
    match work:
        case NoteSwept() if state.is_alive:
            return replace(state, is_unswept=False)
        case NoteSwept():
            return replace(state, is_unswept=False, documents={}, copies=[])
        case WritePage(active_us=int() as active_us):
            updated_us = work.updated_us or state.updated_us
            return replace(state, active_us=active_us, updated_us=updated_us)
        case SkipNumbers():
            return replace(state, n=work.n)
        case WipeLog():
            kept = LogState(tree=state.tree, log=state.log, k=state.k, shelves=state.shelves)
            return replace(kept, n=state.n, trimmed=state.n)
        case OpenShelf():
            return replace(state, shelves=sorted({*state.shelves, work.number}))
    return state


_FOLDS: dict[type, Callable[[LogState, Any], LogState]] = {
    Append: _append,
    Edit: _edit,
    Erase: _erase,
    EraseField: _erase_field,
    RewriteData: _rewrite_data,
    AddOverlay: _add_overlay,
    AddUsage: _add_usage,
    Clear: _clear,
    Retire: _retire,
    **dict.fromkeys(
        (
            *(ChangeProfile, MoveTip, UndoOverlay, BeginFork),
            *(PutDocument, RenewDocument, DropDocument),
        ),
        _change_session,
    ),
    **dict.fromkeys((AdvanceFeed, RegisterReader, ForgetReader, TrimFeed), _change_feed),
    **dict.fromkeys((NoteSwept, WritePage, SkipNumbers, OpenShelf, WipeLog), _change_log),
}
