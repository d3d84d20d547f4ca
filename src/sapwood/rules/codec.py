"""Messages to bytes and back, without losing anything and without guessing."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..errors import MessageTooLargeError, StoreCorruptError, UsageError
from ..model import NewMessage, Part
from .ids import check_name, check_role
from .tokens import estimate_parts

MAX_MESSAGE_BYTES = 8 * 1024 * 1024


class Body(msgspec.Struct, omit_defaults=True, gc=False):
    """What of a message is stored as JSON."""

    parts: list[Part]
    metadata: dict[str, Any] = {}


class Packed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message made ready for a store: checked, encoded, digested, counted."""

    id: str
    role: str
    parts: list[Part]
    metadata: dict[str, Any]
    body: bytes
    digest: bytes
    tokens: int


_encode_body = msgspec.json.Encoder().encode
_encode_canonical = msgspec.json.Encoder(order="deterministic").encode
_decode_body = msgspec.json.Decoder(Body).decode
_decode_any = msgspec.json.Decoder().decode


def pack(
    message: NewMessage, new_id: Callable[[], str], max_bytes: int = MAX_MESSAGE_BYTES
) -> Packed:
    """Check and encode a message; everything that is wrong with it is told here."""
    id = message.id
    if id is None:
        id = new_id()
    else:
        check_name(id, "message id")
    check_role(message.role)
    body = Body(list(message.parts), message.metadata)
    data = encode_body(body, max_bytes)
    tokens = message.tokens
    if tokens is None:
        tokens = estimate_parts(body.parts)
    elif type(tokens) is not int or tokens < 0:
        raise UsageError(f"tokens must be a whole number from 0, not {tokens!r}", path="tokens")
    return Packed(
        id=id,
        role=message.role,
        parts=body.parts,
        metadata=body.metadata,
        body=data,
        digest=digest(message.role, body),
        tokens=tokens,
    )


def pack_all(
    messages: Sequence[NewMessage], new_id: Callable[[], str], max_bytes: int = MAX_MESSAGE_BYTES
) -> list[Packed]:
    """Pack a batch; an empty one is refused."""
    if not messages:
        raise UsageError("there is no message to append: give at least one", path="messages")
    return [pack(message, new_id, max_bytes) for message in messages]


def encode_body(body: Body, max_bytes: int = MAX_MESSAGE_BYTES) -> bytes:
    """Encode a body, and make sure that it will be read back equal."""
    try:
        data = _encode_body(body)
        same = _decode_body(data) == body
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as error:
        refuse_body(body)
        raise UsageError(f"the message cannot be stored: {error}", path="message") from error
    if not same:
        refuse_body(body)
        raise UsageError("the message would not be read back as it is", path="message")
    if len(data) > max_bytes:
        raise MessageTooLargeError(
            f"the message has {len(data)} bytes and the limit is {max_bytes}: "
            "store large content elsewhere and append a reference to it",
            path="message",
        )
    return data


def digest(role: str, body: Body) -> bytes:
    """Digest role, parts and metadata, whatever the order of keys in their objects."""
    return hashlib.sha256(role.encode() + b"\0" + _encode_canonical(body)).digest()[:16]


def decode_body(data: bytes, where: str) -> Body:
    """Decode a stored body; one that cannot be decoded is an error that says where."""
    try:
        return _decode_body(data)
    except (msgspec.MsgspecError, TypeError) as error:
        raise StoreCorruptError(f"message {where} cannot be decoded: {error}") from error


def encode_json(value: Any, what: str) -> bytes:
    """Encode plain JSON (a session's data, an overlay's metadata) that will be read back equal."""
    try:
        data = _encode_body(value)
        same = _decode_any(data) == value
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        same = False
    if not same:
        refuse_json(value, what)
        raise UsageError(f"{what} is not JSON", path=what)
    return data


def decode_json(data: bytes, where: str) -> Any:
    """Decode stored JSON; what cannot be decoded is an error that says where."""
    try:
        return _decode_any(data)
    except msgspec.MsgspecError as error:
        raise StoreCorruptError(f"{where} cannot be decoded: {error}") from error


def refuse_body(body: Body) -> None:
    """Raise a UsageError that names the first place where a body is not JSON."""
    refuse_json(body.metadata, "metadata")
    for index, part in enumerate(body.parts):
        path = f"parts[{index}]"
        if not isinstance(part, Part):
            raise UsageError(
                f"{path} is {type(part).__name__}: parts are TextPart, ToolCallPart ... ", path=path
            )
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if not isinstance(value, bytes):
                refuse_json(value, f"{path}.{name}")


def refuse_json(value: Any, path: str, depth: int = 0) -> None:
    """Raise a UsageError that names the first place where a value is not JSON."""
    if value is None or isinstance(value, (bool, int)):
        return
    if depth > 500:
        raise UsageError(f"{path[:80]}... is nested too deeply", path=path)
    if isinstance(value, str):
        _refuse_text(value, path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"{path} is {value}, which JSON cannot say: use null", path=path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise UsageError(f"{path} has the key {key!r}: keys must be strings", path=path)
            _refuse_text(key, path)
            refuse_json(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            refuse_json(item, f"{path}[{index}]", depth + 1)
    else:
        raise UsageError(f"{path} is a {type(value).__name__}, which is not JSON", path=path)


def _refuse_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{path} has a lone surrogate at character {error.start}: it is not valid Unicode",
            path=path,
        ) from None
