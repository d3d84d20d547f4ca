"""What is stored, as records: entries of segments, sessions, overlays, documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import msgspec

from ...errors import NotFoundError, StoreCorruptError
from ...model import (
    ROOT,
    Document,
    Edge,
    EdgeKind,
    Entry,
    Message,
    Overlay,
    Position,
    Root,
    SessionRecord,
)
from ...rules.codec import decode_body, decode_json

SEP = "\x1f"


class Head(NamedTuple):
    """What stands before the body of an entry; `raw` sums the tokens as they were appended."""

    tokens: int
    version: int
    created_us: int
    raw: int
    role: str
    id: str

    def with_body(self, body: bytes) -> bytes:
        """Give the entry."""
        return SEP.join(map(str, self)).encode() + b"\n" + body


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a session changes only when somebody changes it."""

    title: str | None = None
    state: str = "active"
    tags: list[str] = []
    budget: int | None = None
    parent: str | None = None
    parent_kind: str | None = None


class Covering(msgspec.Struct, frozen=True, kw_only=True):
    """What of an overlay is not in its range."""

    covered_tokens: int
    created_by: str
    created_us: int
    metadata: msgspec.Raw


_encode = msgspec.json.Encoder().encode
_decode_profile = msgspec.json.Decoder(Profile).decode
_decode_covering = msgspec.json.Decoder(Covering).decode


def split_entry(entry: bytes) -> tuple[Head, bytes]:
    """Split an entry into what stands before its body, and the body; empty when deleted."""
    head, _, body = entry.partition(b"\n")
    try:
        tokens, version, created, raw, role, id = head.decode().split(SEP)
        return Head(int(tokens), int(version), int(created), int(raw), role, id), body
    except ValueError as error:
        raise StoreCorruptError(f"an entry cannot be read: {error}") from error


def message_of(entry: bytes, segment: str, depth: int, home: str | None) -> Message | None:
    """Make a message of its entry; None when it was deleted."""
    found: list[Entry] = []
    take_messages([entry], segment, depth, home, found)
    return cast("Message", found[0]) if found else None


def take_messages(
    stored: Sequence[bytes], segment: str, first: int, home: str | None, into: list[Entry]
) -> int:
    """Add the live messages of a run of entries; give the size of their bodies."""
    size = 0
    for depth, entry in enumerate(stored, first):
        head, _, data = entry.partition(b"\n")
        if not data:
            continue
        size += len(data)
        try:
            tokens, version, created, _, role, id = head.decode().split(SEP)
        except ValueError as error:
            raise StoreCorruptError(f"the entry at {segment}.{depth} cannot be read") from error
        body = decode_body(data, id)
        into.append(
            Message(
                id=id,
                role=role,
                parts=body.parts,
                metadata=body.metadata,
                segment=segment,
                depth=depth,
                home=home,
                tokens=int(tokens),
                version=int(version),
                created_us=int(created),
            )
        )
    return size


def name_of(home: bytes | None) -> str | None:
    """Give the name of a home's session; None when it is gone."""
    return None if home is None else home.decode()


def id_or_root(id: bytes) -> str | Root:
    """Give a message's id; an empty one stands for the root."""
    return id.decode() if id else ROOT


class Row:
    """A session as it is stored; changes are gathered by the unit of work."""

    def __init__(self, id: str, fields: dict[bytes, bytes]) -> None:
        self.id = id
        self._fields = fields
        self.home = fields[b"h"].decode()
        self.number = fields[b"n"].decode()
        self.overlays = int(fields[b"ov"])
        self.version = int(fields[b"ver"])

    def __getitem__(self, name: str) -> str:
        return self._fields[name.encode()].decode()

    @property
    def profile(self) -> Profile:
        """What changes only when somebody changes it."""
        return decode_profile(self._fields[b"p"], self.id)

    @property
    def data(self) -> bytes:
        """The session's data, encoded."""
        return self._fields[b"data"]

    @property
    def tip(self) -> tuple[int, int]:
        """The tip's segment and depth, or zeros."""
        return place(self["tip"])

    @property
    def fork(self) -> tuple[int, int]:
        """The fork point's segment and depth, or zeros."""
        return place(self["fk"])

    def changed(self, changes: dict[str, Any]) -> Row:
        """Give the row as it is after changes."""
        new = {name.encode(): _bytes(value) for name, value in changes.items()}
        return Row(self.id, {**self._fields, **new})

    def record(self, context: int) -> SessionRecord:
        """Give it as users see it."""
        profile, data = self.profile, self.data
        tip, fork = self.tip, self.fork
        parent = None
        if profile.parent is not None:
            parent = Edge(kind=EdgeKind(profile.parent_kind), session=profile.parent)
        return SessionRecord(
            id=self.id,
            tip=id_or_root(self._fields[b"ti"]),
            tip_position=Position(str(tip[0]), tip[1]) if tip[0] else None,
            title=profile.title,
            state=profile.state,
            tags=list(profile.tags),
            data={} if data == b"{}" else decode_json(data, f"the data of session {self.id!r}"),
            budget=profile.budget,
            parent=parent,
            forked_at=Position(str(fork[0]), fork[1]) if fork[0] else None,
            messages=int(self["m"]),
            context_tokens=context,
            version=self.version,
            created_us=int(self["cr"]),
            active_us=int(self["act"]),
        )


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def place(text: str) -> tuple[int, int]:
    """Read a place; an empty one is the root."""
    if not text:
        return 0, 0
    segment, depth = text.split()[:2]
    return int(segment), int(depth)


def encode_profile(profile: Profile) -> bytes:
    """Encode a profile."""
    return _encode(profile)


def decode_profile(data: bytes, session: str) -> Profile:
    """Decode a profile."""
    try:
        return _decode_profile(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"session {session!r} cannot be read: {error}") from error


class Range(NamedTuple):
    """An overlay's range, tokens and id."""

    first_segment: int
    first: int
    last_segment: int
    last: int
    tokens: int
    id: str

    def __str__(self) -> str:
        return " ".join(map(str, self))

    def member(self, number: str) -> str:
        """Name it in a session's index: by its end, then the widest, then the newest."""
        rank = 9_999_999_999 - self.first
        return f"{self.last_segment:012d}{self.last:010d}{rank:010d}{number}"


def range_of(text: bytes) -> Range:
    """Read an overlay's range."""
    first_segment, first, last_segment, last, tokens, id = text.decode().split(" ", 5)
    return Range(int(first_segment), int(first), int(last_segment), int(last), int(tokens), id)


def encode_overlay(covering: Covering, summary: str) -> bytes:
    """Encode the rest of an overlay; what its size counts comes last."""
    return _encode(covering) + b"\n" + summary.encode()


def overlay_of(range: bytes, stored: bytes) -> Overlay:
    """Make an overlay of what is stored."""
    found = range_of(range)
    head, _, summary = stored.partition(b"\n")
    try:
        rest = _decode_covering(head)
        text = summary.decode()
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"overlay {found.id!r} cannot be decoded: {error}") from error
    return Overlay(
        id=found.id,
        first=Position(str(found.first_segment), found.first),
        last=Position(str(found.last_segment), found.last),
        summary=text,
        tokens=found.tokens,
        covered_tokens=rest.covered_tokens,
        metadata=decode_json(bytes(rest.metadata), f"the metadata of overlay {found.id!r}"),
        created_by=rest.created_by,
        created_us=rest.created_us,
    )


def encode_document(document: Document) -> bytes:
    """Encode a document."""
    expires = "" if document.expires_us is None else document.expires_us
    head = f"{document.version} {document.updated_us} {expires}\n"
    return head.encode() + document.value


def document_of(key: str, stored: bytes) -> Document:
    """Make a document of what is stored."""
    head, _, value = stored.partition(b"\n")
    version, updated, expires = head.decode().split(" ")
    return Document(
        key=key,
        value=value,
        version=int(version),
        updated_us=int(updated),
        expires_us=int(expires) if expires else None,
    )


def no_session(session: str) -> NotFoundError:
    """Say that a session is not there."""
    return NotFoundError(
        f"there is no session {session!r}: create it first", kind="session", id=session
    )


def no_message(session: str, id: str) -> NotFoundError:
    """Say that a session does not see a message."""
    return NotFoundError(
        f"session {session!r} has no message {id!r} on its branches", kind="message", id=id
    )


def no_overlay(session: str, id: str) -> NotFoundError:
    """Say that an overlay is not in force."""
    return NotFoundError(
        f"no overlay {id!r} is in force for session {session!r}", kind="overlay", id=id
    )
