"""What is stored, and under which keys: sessions, overlays, documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ...errors import StoreCorruptError
from ...model import (
    CHAT,
    ROOT,
    Document,
    Edge,
    EdgeKind,
    Overlay,
    Position,
    Root,
    SessionRecord,
    SystemFields,
)
from ...rules.codec import decode_json
from ...rules.system import NOTHING, decode_system
from ..base.refusals import bad_snapshot
from .entries import position_of

PREFIX = "sapwood"

encode_row = msgspec.json.Encoder().encode
_OWN = " -"
_QUOTED = str.maketrans({"%": "%25", "{": "%7B", "}": "%7D"})


class RedisKeys:
    """The names of keys under a prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.schema = f"{prefix}:schema"
        self.owners = f"{prefix}:owners"
        self.floor = f"{prefix}:{{floor}}:t"

    def tree(self, tree: str, part: str = "t") -> str:
        """Name a key of a tree."""
        return f"{self.prefix}:{{{tree}}}:{part}"

    def owner(self, owner: str, part: str = "t") -> str:
        """Name a key of an owner; a brace in the name must not end the tag."""
        return f"{self.prefix}:{{o:{owner.translate(_QUOTED)}}}:{part}"


def name_of(home: bytes | None) -> str | None:
    """Return the name of a home's session; None when it is gone."""
    return None if home is None else home.decode()


def id_or_root(id: bytes) -> str | Root:
    """Return a message's id; an empty one stands for the root."""
    return id.decode() if id else ROOT


class RedisProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a session changes only when somebody changes it."""

    title: str | None = None
    state: str = "active"
    tags: list[str] = []
    budget: int | None = None
    parent: str | None = None
    parent_kind: str | None = None
    model: str | None = None
    source: str | None = None
    end_reason: str | None = None
    kind: str = CHAT


_decode_profile = msgspec.json.Decoder(RedisProfile).decode


class RedisSessionRow:
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
    def profile(self) -> RedisProfile:
        """What changes only when somebody changes it."""
        try:
            return _decode_profile(self._fields[b"p"])
        except (msgspec.MsgspecError, ValueError) as error:
            raise StoreCorruptError(f"session {self.id!r} cannot be read: {error}") from error

    @property
    def attributes(self) -> bytes:
        """The session's attributes, encoded; earlier versions called them data."""
        return self._fields.get(b"attributes") or self._fields[b"data"]

    @property
    def has_data(self) -> bool:
        """Whether attributes are left under their earlier name."""
        return bool(self._fields.get(b"data"))

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more messages; open ones may not have the field."""
        return bool(self._fields.get(b"cl"))

    @property
    def updated_us(self) -> int:
        """When it was last written to; earlier versions did not keep it."""
        return int(self._fields.get(b"up") or max(int(self["cr"]), int(self["act"])))

    @property
    def system(self) -> SystemFields:
        """What the layers above keep of it; earlier versions had no such field."""
        return decode_system(self._fields.get(b"sys") or NOTHING, f"session {self.id!r}")

    @property
    def tip(self) -> tuple[int, int]:
        """The tip's segment and depth, or zeros."""
        return _place_of(self["tip"])

    @property
    def tip_id(self) -> str | Root:
        """The id of the tip's message."""
        return id_or_root(self._fields[b"ti"])

    @property
    def data(self) -> str:
        """Where the data stands that holds at the tip, as an entry says it; empty for none."""
        return self._fields.get(b"da", b"").decode()

    @property
    def fork(self) -> tuple[int, int]:
        """The fork point's segment and depth, or zeros."""
        return _place_of(self["fk"])

    def is_expired(self, now: int) -> bool:
        """Whether its time is over."""
        expires = self["x"]
        return bool(expires) and int(expires) <= now

    def changed(self, changes: dict[str, Any]) -> RedisSessionRow:
        """Return the row as it is after changes."""
        return RedisSessionRow(self.id, self._fields | stored_fields(changes))

    def record(self, context_tokens: int) -> SessionRecord:
        """Return it as users see it."""
        profile, attributes = self.profile, self.attributes
        parent = None
        if profile.parent is not None:
            parent = Edge(kind=EdgeKind(profile.parent_kind), session=profile.parent)
        return SessionRecord(
            id=self.id,
            tip=self.tip_id,
            tip_position=_position(self.tip),
            title=profile.title,
            kind=profile.kind,
            state=profile.state,
            tags=list(profile.tags),
            attributes=decode_json(attributes, f"session {self.id!r}"),
            budget=profile.budget,
            model=profile.model,
            source=profile.source,
            end_reason=profile.end_reason,
            closed=self.is_closed,
            system=self.system,
            parent=parent,
            forked_at=_position(self.fork),
            messages=int(self["m"]),
            context_tokens=context_tokens,
            version=self.version,
            created_us=int(self["cr"]),
            active_us=int(self["act"]),
            updated_us=self.updated_us,
            data_at=position_of(self.data),
        )


def stored_fields(fields: dict[str, Any]) -> dict[bytes, bytes]:
    """Return the fields of a session as the server gives them back."""
    return {
        name.encode(): value if isinstance(value, bytes) else str(value).encode()
        for name, value in fields.items()
    }


def _place_of(text: str) -> tuple[int, int]:
    """Read a place; an empty one is the root."""
    segment, depth = text.split()[:2] if text else (0, 0)
    return int(segment), int(depth)


def _position(place: tuple[int, int]) -> Position | None:
    return Position(str(place[0]), place[1]) if place[0] else None


class OverlayDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What of an overlay is not in its range."""

    covered_tokens: int
    created_by: str
    created_us: int
    metadata: msgspec.Raw


_decode_details = msgspec.json.Decoder(OverlayDetails).decode


class OverlayRange(NamedTuple):
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


def range_of(text: bytes) -> OverlayRange:
    """Read an overlay's range."""
    first_segment, first, last_segment, last, tokens, id = text.decode().split(" ", 5)
    return OverlayRange(
        int(first_segment), int(first), int(last_segment), int(last), int(tokens), id
    )


def overlay_of(range: bytes, stored: bytes) -> Overlay:
    """Make an overlay of its range, and of its details and summary, which stand on two lines."""
    found = range_of(range)
    head, _, summary = stored.partition(b"\n")
    try:
        rest = _decode_details(head)
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


def rewritten_overlay(stored: bytes, summary: str, metadata: bytes) -> bytes:
    """Return what is stored of an overlay when it says something else."""
    rest = _decode_details(stored.partition(b"\n")[0])
    head = encode_row(replace(rest, metadata=msgspec.Raw(metadata)))
    return head + b"\n" + summary.encode()


def is_expired(document: Document, now: int) -> bool:
    """Whether a document is not to be found any more."""
    return document.expires_us is not None and document.expires_us <= now


def encode_document(document: Document) -> bytes:
    """Encode a document; one that forks do not take is marked."""
    expires = "" if document.expires_us is None else document.expires_us
    created = "" if document.created_us == document.updated_us else f" {document.created_us}"
    own = own_mark(document.inherit)
    head = f"{document.version} {document.updated_us} {expires}{created}{own}\n"
    return head.encode() + document.value


def own_mark(inherit: bool) -> str:
    """Return what ends the first line of a document that is inherited, or is not."""
    return "" if inherit else _OWN


def document_of(key: str, stored: bytes) -> Document:
    """Make a document of what is stored."""
    head, _, value = stored.partition(b"\n")
    version, updated, expires, *rest = head.decode().split(" ")
    created = next((it for it in rest if it.isdigit()), updated)
    return Document(
        key=key,
        value=value,
        version=int(version),
        updated_us=int(updated),
        expires_us=int(expires) if expires else None,
        inherit=not head.endswith(_OWN.encode()),
        created_us=int(created),
    )


def read_snapshot(snapshot: str) -> int:
    """Return the version of a tree that a history's snapshot stands for."""
    if not (snapshot.isascii() and snapshot.isdigit() and len(snapshot) <= 18):
        raise bad_snapshot(snapshot)
    return int(snapshot)
