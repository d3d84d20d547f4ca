"""Rows as the shared subjects read them, and what is made of them: messages, records, pins."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ...errors import StoreCorruptError
from ...model import (
    CHAT,
    ROOT,
    ChangeKind,
    Document,
    Edge,
    EdgeKind,
    Message,
    Overlay,
    Position,
    SessionRecord,
)
from ...rules.codec import Packed, decode_body, decode_json, digest
from ...rules.system import NO_SYSTEM, NOTHING, decode_system
from ..base.refusals import bad_pins
from .position import DEPTH_BITS, MAX_DEPTH, public

Row = tuple[Any, ...]
"""A row of a table, its columns in the order that is named beside each kind of row below."""
HasRoom = Callable[[int], bool]
"""Whether a message of so many bytes is still to be taken; it counts it in."""
HomeNames = dict[int, str | None]
"""The sessions behind home numbers, as far as they are known; None for those that are gone."""

PINS_KEY = "pins"
MARK = "mark"
"""The role that the row of a mark has, which has no body; a deleted message's row has none."""
CHANGE_KINDS = {
    1: ChangeKind.APPEND,
    2: ChangeKind.UPDATE,
    3: ChangeKind.DELETE,
    4: ChangeKind.RETIRE,
    8: ChangeKind.RECORD,
}
KIND_APPEND, KIND_UPDATE, KIND_DELETE, KIND_RETIRE, KIND_RECORD = CHANGE_KINDS

# A message: pos, home, id, role, tokens, version, created_at, body; maybe more.
POS, HOME, ID, ROLE, TOKENS, VERSION, CREATED_AT, BODY = range(8)
# A session's record: id, tip, tip_id, fork, context, messages, version, created_at, active_at, then
# the columns of its `Profile`, `closed`, `data_at`, `kind` and `updated_at`. A context of None is
# to be worked out.
CONTEXT_IN_RECORD, TITLE_IN_RECORD, TAGS_IN_RECORD, SYSTEM_IN_RECORD = 4, 9, 11, 19
# An overlay: number, id, first, last, tokens, covered_tokens, created_by, created_at, metadata,
# summary; maybe more.
OVERLAY_NUMBER, OVERLAY_ID, OVERLAY_FIRST, OVERLAY_LAST, OVERLAY_TOKENS = range(5)
# A document: version, key, updated_at, expires_at, value, inherit, created_at; maybe more. The last
# is None where it was not replaced since it was first put.
DOCUMENT_VERSION, DOCUMENT_KEY, DOCUMENT_UPDATED_AT, DOCUMENT_EXPIRES_AT, DOCUMENT_VALUE = range(5)
DOCUMENT_CREATED_AT = 6


class SessionRow(NamedTuple):
    """The part of a session that every unit of work reads."""

    number: int
    owner: int
    id: str
    home: int
    tree: int
    tip: int
    fork: int
    context: int | None
    messages: int
    overlays: int
    version: int
    created_at: int
    active_at: int
    active_s: int
    ends: int = 0
    """1 when the tip is known to be the last position of a segment of the session's own."""
    running: int = 0
    """The running sum of tokens at the tip, where `ends` says that it is kept."""
    edited: int = 1
    """0 when it is known that nothing in the tree was changed after it was appended."""
    closed: int = 0
    """1 when it takes no messages, edits, overlays or checkouts."""
    has_data: int = 0
    """0 when it is known that there is no data in the tree."""
    kind: str = CHAT


def new_row(owner: int, id: str, home: int, now: int, version: int, kind: str) -> SessionRow:
    """Return the row of a new, empty session in a tree of its own, which has no number yet."""
    now_s = now // 1_000_000
    times = (now, now, now_s)
    return SessionRow(0, owner, id, home, home, 0, 0, 0, 0, 0, version, *times, edited=0, kind=kind)


class Profile(NamedTuple):
    """What is said of a session, as its table holds it: stores pack titles and tags."""

    title: Any
    state: str
    tags: Any
    budget: int | None
    parent_kind: str | None
    parent: str | None
    attributes: bytes
    model: str | None
    source: str | None
    end_reason: str | None
    system: bytes = NOTHING
    system_key: bytes | None = None
    """By which it is found: its owner, then the digests of its key's parts; None without a key."""
    title_key: bytes | None = None
    """By which it is found: its owner, then the beginning of its title; None without one."""


class SeenMessage(NamedTuple):
    """A message as far as it matters where it stands."""

    pos: int
    home: int
    is_live: bool


class NewOverlayRow(NamedTuple):
    """An overlay that is to be stored."""

    id: str
    first: int
    last: int
    tokens: int
    covered_tokens: int
    created_by: str
    created_at: int
    metadata: bytes
    summary: str


class DocumentScope(NamedTuple):
    """Whose documents are meant: the first columns of their key."""

    place: int | None
    """The owner's number, or that of a tree, as a store has it; None holds no documents."""
    session: int
    """The session's number; 0 for the owner's own."""


class Touches(enum.Enum):
    """What of the change feed a unit of work adds to; some databases lock an owner by it."""

    NOTHING = "nothing"
    APPENDS = "appends"
    CHANGES = "changes"


def message_of(row: Row, home: str | None) -> Message:
    """Return the message of a row; `home` is the session that wrote it."""
    pos, _, id, role, tokens, version, created_at, data = row
    body = decode_body(data, id)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        extra=body.extra,
        name=body.name,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=home,
        tokens=tokens,
        version=version,
        created_us=created_at,
    )


def written(
    batch: Sequence[Packed], session: str, first: int, now: int, above: int = 0
) -> list[Message]:
    """Return new messages as they were written from a position on, after data at another one."""
    held = public(above) if above else None
    segment, depth = str(first >> DEPTH_BITS), first & MAX_DEPTH
    return [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            extra=it.extra,
            name=it.name,
            segment=segment,
            depth=depth + index,
            home=session,
            tokens=it.tokens,
            version=1,
            created_us=said_at(it, now),
            data_at=held if it.data is None else Position(segment, depth + index),
        )
        for index, it in enumerate(batch)
        if not it.is_mark
    ]


def said_at(it: Packed, now: int) -> int:
    """Return the time of a new message."""
    return now if it.created_us is None else it.created_us


def first_digest(role: str, kept: bytes | None, body: bytes | None, id: str) -> bytes | None:
    """Return a message's digest as it was first appended; None of a deleted one.

    It is kept from the first change on.
    """
    if kept is not None or body is None:
        return kept
    return digest(role, decode_body(body, id))


def taken(rows: Iterable[Row], has_room: HasRoom | None, bodies: bool = True) -> list[Row]:
    """Return rows of messages up to the first that has no room; of sizes, without bodies."""
    if has_room is None:
        return list(rows)
    return list(takewhile(lambda row: has_room(size_of(row, bodies)), rows))


def size_of(row: Row, bodies: bool) -> int:
    """Return the size of a message's body, which is there in its place where it was not read."""
    size: int = len(row[BODY]) if bodies else row[BODY]
    return size


def overlay_of(row: Row) -> Overlay:
    """Return the overlay of a row."""
    _, id, first, last, tokens, covered, created_by, created_at, metadata, summary = row
    return Overlay(
        id=id,
        first=public(first),
        last=public(last),
        summary=summary_text(summary, id),
        tokens=tokens,
        covered_tokens=covered,
        metadata={} if metadata == b"{}" else decode_json(metadata, f"overlay {id!r}"),
        created_by=created_by,
        created_us=created_at,
    )


def summary_text(summary: bytes, id: str) -> str:
    """Return the text of a summary that was read as bytes."""
    try:
        return summary.decode()
    except UnicodeDecodeError as error:
        raise StoreCorruptError(f"overlay {id!r} cannot be decoded: {error}") from error


def document_of(row: Row) -> Document:
    """Return the document of a row."""
    version, key, updated_at, expires_at, value, inherit, created_at = row
    return Document(
        key=key,
        value=value,
        version=version,
        updated_us=updated_at,
        expires_us=expires_at,
        inherit=bool(inherit),
        created_us=updated_at if created_at is None else created_at,
    )


def created_before(replaced: Row | None, now: int) -> int | None:
    """Return when a document was first put that is replaced; None when one begins by this put.

    One that has expired is not there any more.
    """
    if replaced is None:
        return None
    expires_at, created_at = replaced[DOCUMENT_EXPIRES_AT], replaced[DOCUMENT_CREATED_AT]
    if expires_at is not None and expires_at <= now:
        return None
    at: int = replaced[DOCUMENT_UPDATED_AT] if created_at is None else created_at
    return at


def record_of(row: Row, context: int, title: str | None, tags: list[str]) -> SessionRecord:
    """Return the record of a row whose context, title and tags are given as they are shown."""
    # Taken apart at once, without slices: every look at how full a context is comes through here.
    (
        id,
        tip,
        tip_id,
        fork,
        _,
        messages,
        version,
        created_at,
        active_at,
        _,
        state,
        _,
        budget,
        parent_kind,
        parent,
        attributes,
        model,
        source,
        end_reason,
        system,
        _,
        _,
        closed,
        data_at,
        kind,
        updated_at,
    ) = row
    if tip and tip_id is None:
        raise StoreCorruptError(f"the tip of session {id!r} is missing")
    return SessionRecord(
        id=id,
        tip=tip_id or ROOT,
        tip_position=public(tip) if tip else None,
        title=title,
        kind=kind,
        state=state,
        tags=tags,
        attributes={} if attributes == b"{}" else decode_json(attributes, f"session {id!r}"),
        budget=budget,
        model=model,
        source=source,
        end_reason=end_reason,
        closed=bool(closed),
        system=NO_SYSTEM if system == NOTHING else decode_system(system, f"session {id!r}"),
        parent=_edge(id, parent_kind, parent) if parent else None,
        forked_at=public(fork) if fork else None,
        messages=messages,
        context_tokens=context,
        version=version,
        created_us=created_at,
        active_us=active_at,
        data_at=public(data_at) if data_at else None,
        updated_us=updated_at,
    )


def _edge(id: str, kind: str, parent: str) -> Edge:
    try:
        return Edge(kind=EdgeKind(kind), session=parent)
    except ValueError as error:
        raise StoreCorruptError(
            f"the link of session {id!r} to its parent is of no known kind: {kind!r}"
        ) from error


def pinned_ids(data: bytes, session: str) -> list[str]:
    """Return the ids of the pins; a document that is no such list is `StoreCorruptError`."""
    try:
        ids = json.loads(data)
    except ValueError as error:
        raise bad_pins(session) from error
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise bad_pins(session)
    return [id for id in ids if _can_be_stored(id)]


def _can_be_stored(id: str) -> bool:
    """Whether there can be a message of this id; databases cannot be asked for others."""
    try:
        return b"\0" not in id.encode()
    except UnicodeEncodeError:
        return False
