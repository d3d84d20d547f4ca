"""Sessions as they are stored."""

from __future__ import annotations

from typing import Any

import msgspec

from ...errors import StoreCorruptError
from ...model import Edge, EdgeKind, Position, Root, SessionRecord
from ...rules.codec import decode_json
from .entries import id_or_root


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


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(RedisProfile).decode


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
    def created_us(self) -> int:
        """When it was created."""
        return int(self["cr"])

    @property
    def active_us(self) -> int:
        """When it was last appended to."""
        return int(self["act"])

    @property
    def messages(self) -> int:
        """How many live messages it wrote."""
        return int(self["m"])

    @property
    def context_tokens(self) -> int | None:
        """How many tokens it shows at its tip; None while that has to be worked out."""
        return int(known) if (known := self["c"]) else None

    @property
    def profile(self) -> RedisProfile:
        """What changes only when somebody changes it."""
        return decode_profile(self._fields[b"p"], self.id)

    @property
    def attributes(self) -> bytes:
        """The session's attributes, encoded; earlier versions called them data."""
        return self._fields.get(b"attributes") or self._fields[b"data"]

    @property
    def tip(self) -> tuple[int, int]:
        """The tip's segment and depth, or zeros."""
        return place_of(self["tip"])

    @property
    def tip_id(self) -> str | Root:
        """The id of the tip's message."""
        return id_or_root(self._fields[b"ti"])

    @property
    def fork(self) -> tuple[int, int]:
        """The fork point's segment and depth, or zeros."""
        return place_of(self["fk"])

    def is_expired(self, now: int) -> bool:
        """Whether its time is over."""
        expires = self["x"]
        return bool(expires) and int(expires) <= now

    def changed(self, changes: dict[str, Any]) -> RedisSessionRow:
        """Return the row as it is after changes."""
        new = {name.encode(): _bytes(value) for name, value in changes.items()}
        return RedisSessionRow(self.id, {**self._fields, **new})

    def record(self, context_tokens: int) -> SessionRecord:
        """Return it as users see it."""
        profile, attributes = self.profile, self.attributes
        tip, fork = self.tip, self.fork
        parent = None
        if profile.parent is not None:
            parent = Edge(kind=EdgeKind(profile.parent_kind), session=profile.parent)
        return SessionRecord(
            id=self.id,
            tip=self.tip_id,
            tip_position=Position(str(tip[0]), tip[1]) if tip[0] else None,
            title=profile.title,
            state=profile.state,
            tags=list(profile.tags),
            attributes={}
            if attributes == b"{}"
            else decode_json(attributes, f"session {self.id!r}"),
            budget=profile.budget,
            model=profile.model,
            source=profile.source,
            end_reason=profile.end_reason,
            parent=parent,
            forked_at=Position(str(fork[0]), fork[1]) if fork[0] else None,
            messages=self.messages,
            context_tokens=context_tokens,
            version=self.version,
            created_us=self.created_us,
            active_us=self.active_us,
        )


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def place_of(text: str) -> tuple[int, int]:
    """Read a place; an empty one is the root."""
    if not text:
        return 0, 0
    segment, depth = text.split()[:2]
    return int(segment), int(depth)


def encode_profile(profile: RedisProfile) -> bytes:
    """Encode a profile."""
    return _encode(profile)


def decode_profile(data: bytes, session: str) -> RedisProfile:
    """Decode a profile."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"session {session!r} cannot be read: {error}") from error
