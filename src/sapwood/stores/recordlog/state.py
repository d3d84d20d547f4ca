"""What a log adds up to: all that has to be known of a session, without what was said in it.

It grows with branches, edits, overlays and documents, and not with messages.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict

from ...rules.tree import Place
from .errors import decoded
from .work import LogProfile, StoredPlace, from_wire, number_of, segment_of, to_wire


class LogSegment(NamedTuple):
    """What it follows, and the last depth that was given in it."""

    parent: Place | None
    last: int

    @property
    def first(self) -> int:
        """The first depth in it."""
        return self.parent.depth + 1 if self.parent else 1


class Edited(NamedTuple):
    """A message that is not as it was appended: by which record, and how many tokens more it has.

    `appended` is the record that it was appended by.
    """

    n: int
    delta: int
    is_erased: bool
    appended: int
    changed: int | None = None
    """The record that changed it last, or 0, where `n` only wrote it anew."""

    @property
    def changed_by(self) -> int:
        """The record by which it last said something else; 0 when it never did."""
        return self.n if self.changed is None else self.changed


class KeptData(NamedTuple):
    """A version of the data: the record that it is in, and whether a mark has it."""

    n: int
    is_mark: bool = False
    anew: int = 0
    """The record that wrote it anew, if one did."""
    erased: tuple[str, ...] = ()
    """The fields that were taken out of it since."""


class MessagePlace(NamedTuple):
    """Where a message stands, and the record that it was appended by."""

    place: Place
    n: int


class LaidOverlay(NamedTuple):
    """An overlay in force; its words are in the record `n` of the log that it was made in."""

    stamp: int
    log: str
    n: int
    id: str
    first: Place
    last: Place
    above: int
    base: int
    tokens: int


class KeptDocument(NamedTuple):
    """A document. Its value is in the record `n` of this log; a copy's number is below 0."""

    version: int
    n: int
    updated_us: int
    expires_us: int | None
    inherit: bool = True
    created_us: int | None = None
    """When it was first put, if it was replaced since."""


class BegunFork(NamedTuple):
    """A fork that was begun here: it is there if its entry names this log."""

    shard: str
    entry: str
    log: str
    at: Place | None


class RecordSpan(NamedTuple):
    """The depths of a segment that one record has: the segment's number, its ends, the record."""

    number: int
    first: int
    last: int
    n: int


MOST_RECORD_SPANS = 64

NO_PROFILE = LogProfile(None, "active", [], b"{}", None)


class LogState(msgspec.Struct, frozen=True, kw_only=True):
    """A log up to its record `n`. It is stored in this order: fields are only added at the end."""

    tree: str
    log: str
    owner: str = ""
    session: str = ""
    k: int = 1
    """How many sessions of this name there were, with this one."""
    n: int = 0
    page: int = 0
    is_alive: bool = True
    ended_us: int = 0
    profile: LogProfile = NO_PROFILE
    parent: tuple[str, str] | None = None
    version: int = 1
    created_us: int = 0
    active_us: int = 0
    tip: Place | None = None
    tip_id: str | None = None
    tip_base: int = 0
    fork: Place | None = None
    fork_id: str | None = None
    homes: list[tuple[str, int]] = []
    """The homes on the path to the fork point: the log, and how often it had been cleared."""
    marks: list[int] = []
    """How many segments there were each time that it was cleared, or deleted."""
    messages: int = 0
    segments: list[LogSegment] = []
    edits: dict[int, dict[int, Edited]] = {}
    """By segment number and depth."""
    foreign: dict[Place, tuple[int, int, str]] = {}
    """Messages of other logs that were erased through this session: tokens, record and id."""
    overlays: list[LaidOverlay] = []
    documents: dict[str, KeptDocument] = {}
    totals: dict[str, tuple[int, ...]] = {}
    """Calls and figures by model."""
    usages: list[int] = []
    """The records that count usage."""
    begun_forks: list[BegunFork] = []
    recent: dict[str, MessagePlace] = {}
    """Messages since the page, whose ids are not looked up elsewhere yet."""
    recent_usage: dict[str, int] = {}
    litter: list[tuple[int, int]] = []
    """What was said and is no longer: a record, and a depth in it or 0 for all of it."""
    seen: dict[str, int] = {}
    """How far the change feed has come in each log."""
    readers: dict[str, int] = {}
    trimmed: int = 0
    is_unswept: bool = False
    """Whether records of it are left that nobody stands on any more."""
    copies: list[tuple[str, int]] = []
    """The copies of documents that it began with, by key and number."""
    shelves: list[int] = []
    """Which logs have more of an owner's documents than this one; that is never forgotten."""
    data: dict[int, dict[int, KeptData]] = {}
    """The versions of the data, by segment number and depth."""
    inherited_data: dict[int, Place] = {}
    """By segment number, where the data stands that holds at its parent, if there is any."""
    fork_data: Place | None = None
    """Where the data stands that holds at the fork point."""
    erased_fields: dict[int, dict[str, int]] = {}
    """By segment number, the fields that were taken out of the data down to a depth."""
    foreign_fields: list[tuple[Place, str]] = []
    """Fields that were taken out of other logs' data through this session, down to a position."""
    updated_us: int = 0
    """When it was last written to; 0 of what was not since this is kept."""
    page_bytes: int = 0
    tail: tuple[RecordSpan, ...] = ()
    """Which records have the newest messages, as far as this process saw them; it is not stored."""

    @property
    def epoch(self) -> int:
        """How often it was cleared."""
        return len(self.marks)

    @property
    def retired(self) -> int:
        """Segments up to this number are nobody's."""
        return self.marks[-1] if self.marks else 0

    def epoch_of(self, number: int) -> int:
        """Return how often it had been cleared when a segment was made."""
        return bisect_left(self.marks, number)

    def own(self, number: int) -> int:
        """Return one of its segments as the rules know it."""
        return segment_of(self.log, number)

    def records_of(self, number: int, first: int, last: int) -> list[int]:
        """Return the records that have a range of a segment; none when not all are known."""
        found = [it for it in self.tail if it.number == number and it.last >= first]
        is_known = bool(found) and found[0].first <= first and found[-1].last >= last
        return [it.n for it in found if it.first <= last] if is_known else []

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be done beside its records."""
        left = self.recent or self.recent_usage or self.litter or self.foreign
        return not (left or self.foreign_fields)

    def data_at(self, place: Place) -> Place | None:
        """Return where the data stands that holds at a position of this log."""
        number, depth = number_of(place.segment), place.depth
        versions = self.data.get(number)
        if versions:
            nearest = next((it for it in reversed(versions) if it <= depth), None)
            if nearest is not None:
                return Place(place.segment, nearest)
        return self.inherited_data.get(number)

    def is_mark(self, place: Place) -> bool:
        """Whether a position of this log is a mark."""
        kept = self.data.get(number_of(place.segment), {}).get(place.depth)
        return kept is not None and kept.is_mark


_NOT_STORED = ("page_bytes", "tail")
_STORED_AS: dict[str, Any] = {
    "tip": StoredPlace | None,
    "fork": StoredPlace | None,
    "segments": list[tuple[StoredPlace | None, int]],
    "foreign": list[tuple[StoredPlace, tuple[int, int, str]]],
    "overlays": list[tuple[int, str, int, str, StoredPlace, StoredPlace, int, int, int]],
    "begun_forks": list[tuple[str, str, str, StoredPlace | None]],
    "recent": dict[str, tuple[StoredPlace, int]],
    "inherited_data": dict[int, StoredPlace],
    "fork_data": StoredPlace | None,
    "foreign_fields": list[tuple[StoredPlace, str]],
}
"""What has positions in it, which are stored in the words of `to_wire`."""
_StoredState = msgspec.defstruct(
    "_StoredState",
    [
        (
            it.name,
            _STORED_AS.get(it.name, it.type),
            # What earlier versions stored lacks the newest fields.
            msgspec.field(default=it.default, default_factory=it.default_factory),  # type: ignore[call-overload]
        )
        for it in msgspec.structs.fields(LogState)
        if it.name not in _NOT_STORED
    ],
    array_like=True,
)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_StoredState).decode


def encode_state(state: LogState) -> bytes:
    """Encode a state."""
    log = state.log
    fields = {name: getattr(state, name) for name in _StoredState.__struct_fields__}
    fields |= {
        "tip": state.tip and to_wire(state.tip, log),
        "fork": state.fork and to_wire(state.fork, log),
        "segments": [(it.parent and to_wire(it.parent, log), it.last) for it in state.segments],
        "foreign": [(to_wire(place, log), what) for place, what in state.foreign.items()],
        "overlays": [
            (*it[:4], to_wire(it.first, log), to_wire(it.last, log), *it[6:])
            for it in state.overlays
        ],
        "begun_forks": [(*it[:3], it.at and to_wire(it.at, log)) for it in state.begun_forks],
        "recent": {id: (to_wire(it.place, log), it.n) for id, it in state.recent.items()},
        "inherited_data": {no: to_wire(it, log) for no, it in state.inherited_data.items()},
        "fork_data": state.fork_data and to_wire(state.fork_data, log),
        "foreign_fields": [(to_wire(it, log), field) for it, field in state.foreign_fields],
    }
    return _encode(_StoredState(**fields))


def decode_state(data: bytes, where: str) -> LogState:
    """Decode a state; one that cannot be decoded is an error that says where."""
    fields = asdict(decoded(_decode, data, f"the state at {where}"))
    log = fields["log"]

    def place(wire: StoredPlace | None) -> Place | None:
        return wire and from_wire(wire, log)

    fields |= {
        "tip": place(fields["tip"]),
        "fork": place(fields["fork"]),
        "segments": [LogSegment(place(parent), last) for parent, last in fields["segments"]],
        "foreign": {from_wire(wire, log): what for wire, what in fields["foreign"]},
        "overlays": [
            LaidOverlay._make((*it[:4], from_wire(it[4], log), from_wire(it[5], log), *it[6:]))
            for it in fields["overlays"]
        ],
        "begun_forks": [BegunFork._make((*it[:3], place(it[3]))) for it in fields["begun_forks"]],
        "recent": {
            id: MessagePlace(from_wire(wire, log), n) for id, (wire, n) in fields["recent"].items()
        },
        "inherited_data": {no: from_wire(it, log) for no, it in fields["inherited_data"].items()},
        "fork_data": place(fields["fork_data"]),
        "foreign_fields": [(from_wire(it, log), field) for it, field in fields["foreign_fields"]],
    }
    return LogState(**fields, page_bytes=len(data))
