"""The format: a header, then a line for each thing, then a last line that tells the counts.

What follows a session's line belongs to it, up to the next session's. A message comes after its
parent, a fork after the session that it came out of. Parts are written as stores keep them. What a
store is asked to write for a line stands here, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec

from ..errors import UnsupportedOperationError, UsageError
from ..model import (
    CHAT,
    ROOT,
    Appended,
    Edge,
    EntryRef,
    ForkPoint,
    Message,
    NewMessage,
    NewOverlay,
    NewSession,
    Part,
    SessionPatch,
    SessionRecord,
    SystemFields,
    Usage,
)
from ..rules.wording import counted
from ..store import Store

S = TypeVar("S", bound=msgspec.Struct)

FORMAT = "sapwood-export"
VERSION = 1
MOST_TOLD = 5
FOR_A_GAP = {"sapwood": "the place of a deleted message"}
MESSAGE_FIELDS = ("role", "parts", "metadata", "tokens", "extra", "name")
"""What of a message a copy compares, and an update replaces."""
MAX_LINE_BYTES = 256 * 1024 * 1024
# How much is compared, or written, at a time.
CHUNK = 500
CHUNK_BYTES = 4 * 1024 * 1024


class _LineBase(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True
):
    """What all lines share: they say of which kind they are."""


class Header(_LineBase, frozen=True, kw_only=True, tag="header"):
    """The first line."""

    format: str
    version: int
    sapwood: str


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The message of a session in the same file from which a fork goes on."""

    session: str
    message: str


class SessionLine(_LineBase, frozen=True, kw_only=True, tag="session"):
    """A session's record. `version` is told, but a store gives its own."""

    id: str
    title: str | None
    state: str
    tags: list[str]
    attributes: dict[str, Any]
    budget: int | None
    model: str | None
    source: str | None
    end_reason: str | None
    parent: Edge | None
    fork: Origin | None
    tip: str | None
    created_us: int
    active_us: int
    version: int
    closed: bool = False
    session_kind: str = CHAT
    system: SystemFields = SystemFields()


class DocumentLine(_LineBase, frozen=True, kw_only=True, tag="document"):
    """A document of the session, or before the first session of the owner; base64."""

    key: str
    value: bytes
    inherit: bool = True


class MessageLine(_LineBase, frozen=True, kw_only=True, tag="message"):
    """A message after its parent, which may be a gap; null is the root."""

    id: str
    parent: str | None
    role: str
    parts: list[Part]
    metadata: dict[str, Any]
    tokens: int
    created_us: int
    home: str | None
    extra: dict[str, Any] = {}
    name: str | None = None
    data: dict[str, Any] | None = None


class GapLine(_LineBase, frozen=True, kw_only=True, tag="gap"):
    """The place of a deleted message: its id stays taken, and an overlay may end there."""

    id: str
    parent: str | None
    data: dict[str, Any] | None = None


class MarkLine(_LineBase, frozen=True, kw_only=True, tag="mark"):
    """A place that has data and never had a message."""

    id: str
    parent: str | None
    data: dict[str, Any]


class OverlayLine(_LineBase, frozen=True, kw_only=True, tag="overlay"):
    """An overlay in force, over the messages from `first` to `last`.

    Those that end deeper come first, and of those with the same end the narrower: in this order
    the ends of each are visible when it is added.
    """

    id: str
    first: str
    last: str
    summary: str
    tokens: int
    covered_tokens: int
    metadata: dict[str, Any]
    created_by: str
    created_us: int


class UsageLine(_LineBase, frozen=True, kw_only=True, tag="usage"):
    """The sum of a session's usage for one model."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    cost_micros: int


class EndLine(_LineBase, frozen=True, kw_only=True, tag="end"):
    """The last line: without it, the file was cut off."""

    sessions: int
    messages: int


PlaceLine = MessageLine | GapLine | MarkLine
FileLine = SessionLine | DocumentLine | PlaceLine | OverlayLine | UsageLine | EndLine

_encode = msgspec.json.Encoder().encode
_header = msgspec.json.Decoder(dict[str, Any])
_decoder: msgspec.json.Decoder[FileLine] = msgspec.json.Decoder(FileLine)


def encode_line(line: FileLine | Header) -> bytes:
    """Write a line, with its end."""
    return _encode(line) + b"\n"


def decode_header(data: bytes) -> None:
    """Check the first line; a newer version's is told apart from what is no export at all."""
    try:
        fields = _header.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        fields = {}
    if fields.get("kind") != "header" or fields.get("format") != FORMAT:
        raise UsageError("this is no export of sapwood: its first line is no header", path="line 1")
    version = fields.get("version")
    if type(version) is not int or version < 1:
        raise UsageError("the header has no version", path="line 1")
    if version > VERSION:
        raise UnsupportedOperationError(
            f"the file has version {version} of the format and this sapwood reads {VERSION}: "
            "upgrade it"
        )


def first_few(texts: Sequence[str], many: int | None = None) -> str:
    """Write the first of what is wrong, and how many more there are."""
    more = (len(texts) if many is None else many) - len(texts[:MOST_TOLD])
    shown = "; ".join(texts[:MOST_TOLD])
    return f"{shown}; and {more} more" if more > 0 else shown


def wrong(number: int, what: str) -> UsageError:
    """Return the error for a line that is wrong."""
    return UsageError(f"line {number} {what}", path=f"line {number}")


class NumberedLine(NamedTuple):
    """A line, its number, and its size."""

    number: int
    line: FileLine
    size: int


def iter_lines(file: BinaryIO) -> Iterator[NumberedLine]:
    """Read a file from its beginning: all lines between the header and the last one."""
    file.seek(0)
    header, *_ = next(_iter_raw(file), (b"",))
    decode_header(header)
    sessions = messages = 0
    number, is_ended = 1, False
    for data, number in _iter_raw(file, 1):
        if is_ended:
            raise wrong(number, "comes after the end")
        try:
            line = _decoder.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise wrong(number, f"cannot be read: {error}") from error
        if isinstance(line, EndLine):
            is_ended = True
            if (line.sessions, line.messages) != (sessions, messages):
                raise wrong(
                    number,
                    f"counts {counted(line.sessions, 'session')} and "
                    f"{counted(line.messages, 'message')}, and the file has {sessions} and "
                    f"{messages}: lines are missing",
                )
            continue
        sessions += isinstance(line, SessionLine)
        messages += isinstance(line, MessageLine)
        if not sessions and not isinstance(line, DocumentLine):
            raise wrong(number, "belongs to no session")
        yield NumberedLine(number, line, len(data))
    if not is_ended:
        raise UsageError(
            f"the file ends after line {number} without its last line: it was cut off",
            path=f"line {number}",
        )


def _iter_raw(file: BinaryIO, number: int = 0) -> Iterator[tuple[bytes, int]]:
    while data := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(data) == MAX_LINE_BYTES:
            raise wrong(number, f"is longer than {MAX_LINE_BYTES} bytes")
        if data.strip():
            yield data, number


def made_of(kind: type[S], source: msgspec.Struct, /, **others: Any) -> S:
    """Make a record of the fields that another has under the same names, and of others."""
    names = set(kind.__struct_fields__) & set(source.__struct_fields__)
    return kind(**{name: getattr(source, name) for name in names} | others)


def new_session(line: SessionLine, parent: Edge | None) -> NewSession:
    """Make a session to create of its line."""
    fork = line.fork and made_of(ForkPoint, line.fork)
    return made_of(NewSession, line, kind=line.session_kind, parent=parent, fork=fork)


def last_patch(line: SessionLine, record: SessionRecord) -> SessionPatch | None:
    """Return what a session's record gets last, when all else is there; None for nothing."""
    changes: dict[str, Any] = {}
    if line.closed and not record.closed:
        changes["closed"] = True
    if line.active_us != record.active_us:
        changes["active_us"] = line.active_us
    return SessionPatch(**changes) if changes else None


def new_place(line: MessageLine | GapLine) -> NewMessage:
    """Make what is appended for a line; for a gap, an empty message that is deleted again."""
    if not isinstance(line, MessageLine):
        return NewMessage(id=line.id, role="user", parts=[], metadata=FOR_A_GAP, tokens=0)
    return NewMessage(
        id=line.id,
        role=line.role,
        parts=line.parts,
        metadata=line.metadata,
        tokens=line.tokens,
        created_us=line.created_us,
        extra=line.extra,
        name=line.name,
    )


class Run(NamedTuple):
    """What is appended by one call: messages that follow each other, or a mark."""

    parent: str | None
    ids: list[str]
    messages: list[NewMessage]
    data: dict[str, Any] | None

    def append_to(self, store: Store, owner: str, session: str) -> Appended:
        """Append it."""
        given: dict[str, Any] = {} if self.data is None else {"data": self.data}
        if not self.messages:
            given["id"] = self.ids[-1]
        return store.append(owner, session, self.messages, parent=self.parent or ROOT, **given)

    def count(self, written: int) -> int:
        """Count what was written and is there to stay: what was there is its beginning."""
        new = self.messages[len(self.messages) - written :]
        return sum(not is_for_a_gap(it) for it in new)


def runs_of(lines: Iterable[PlaceLine]) -> Iterator[Run]:
    """Put lines together that follow each other, up to one that has data."""
    run: list[PlaceLine] = []
    for line in lines:
        is_next = run and line.parent == run[-1].id and run[-1].data is None
        if run and (not is_next or isinstance(line, MarkLine)):
            yield _run(run)
            run = []
        run.append(line)
    if run:
        yield _run(run)


def _run(lines: Sequence[PlaceLine]) -> Run:
    messages = [new_place(line) for line in lines if not isinstance(line, MarkLine)]
    return Run(lines[0].parent, [line.id for line in lines], messages, lines[-1].data)


def is_for_a_gap(message: Message | NewMessage) -> bool:
    """Whether a message stands only where a gap is to be."""
    return message.metadata == FOR_A_GAP and not message.parts


def new_overlay(line: OverlayLine) -> NewOverlay:
    """Make an overlay to add of its line, as seen from its own end."""
    first, last = EntryRef.of(line.first), EntryRef.of(line.last)
    return made_of(NewOverlay, line, first=first, last=last, leaf=line.last)


def new_usage(line: UsageLine) -> Usage:
    """Make a record of one call of a sum; its id is the model's, so that it counts once."""
    name = hashlib.sha256(line.model.encode()).hexdigest()[:16]
    return made_of(Usage, line, id=f"import-{name}")
