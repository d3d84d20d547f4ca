"""Messages to bytes and back, without losing anything and without guessing."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ..errors import MessageTooLargeError, StoreCorruptError, UsageError
from ..model import FilePart, NewMessage, Part, TextPart, ToolResultPart
from .ids import IdMaker, check_name, check_time
from .inline_files import files_in, joined, json_in, with_files, without_files
from .tokens import MAX_TOKENS, MESSAGE_OVERHEAD, estimate_parts, estimate_utf8
from .wording import a_kind

T = TypeVar("T")

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# How deep a decoder gets depends on the interpreter and its caller: all must read what is stored.
MAX_NESTING = 500
MARK_ROLE = ""
"""What no message has for its role."""
MARK_DIGEST = b"mark"
MAX_DIGEST_BYTES = 32
USUAL_ROLES = ("system", "developer", "user", "assistant", "tool")


class Body(msgspec.Struct, omit_defaults=True, gc=False):
    """What of a message is stored: as JSON, with the bytes of its files behind that."""

    parts: list[Part]
    metadata: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    name: str | None = None


class Packed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message made ready for a store: checked, encoded, counted."""

    id: str
    role: str
    parts: list[Part]
    metadata: dict[str, Any]
    body: bytes
    tokens: int
    is_ours: bool
    """Its id was made here, so that nothing stored can have it."""
    created_us: int | None = None
    extra: dict[str, Any] = {}
    keeps_extra: bool = False
    """None was given: an update keeps that of the stored message."""
    max_bytes: int = MAX_MESSAGE_BYTES
    """What it may take with the extra that it keeps."""
    name: str | None = None
    given_digest: bytes | None = None
    """What its client has it compared by: it is stored, since nobody can work it out."""
    data: bytes | None = None
    """The data that holds from it on; a mark has nothing else."""

    @property
    def digest(self) -> bytes:
        """What a repeated append is compared by; worked out when asked for."""
        if self.is_mark:
            return MARK_DIGEST
        if self.given_digest is not None:
            return self.given_digest
        return digest(self.role, Body(self.parts, self.metadata, name=self.name))

    @property
    def is_mark(self) -> bool:
        """Whether it is a position without a message."""
        return self.role == MARK_ROLE


_encode_body = msgspec.json.Encoder().encode
_encode_canonical = msgspec.json.Encoder(order="deterministic").encode
_decode_body = msgspec.json.Decoder(Body).decode
_decode_any = msgspec.json.Decoder().decode

# How a lone tool result is encoded.
_BEFORE_CALL_ID = b'{"parts":[{"type":"tool_result","call_id":'
_BEFORE_OUTPUT = b',"output":'
_AFTER_OUTPUT = b"}]}"

# Bytes that are not UTF-8 are a ValueError, a NULL is a TypeError.
_UNDECODABLE = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)
_PLACE = re.compile(r" - at `\$\.?(.+)`$")


def pack(
    message: NewMessage, new_id: Callable[[], str], max_bytes: int = MAX_MESSAGE_BYTES
) -> Packed:
    """Check and encode a message; everything that is wrong with it is told here."""
    if not isinstance(message, NewMessage):
        raise UsageError(f"a message must be a NewMessage, not {a_kind(message)}", path="message")
    id = message.id
    if id is None:
        id = new_id()
    else:
        check_name(id, "message id")
    role = message.role
    if type(role) is not str or role not in USUAL_ROLES:
        check_name(role, "role")
    if message.name is not None:
        check_name(message.name, "name")
    if message.digest is not None:
        _check_digest(message.digest)
    keeps_extra = message.extra is UNSET
    extra = {} if message.extra is UNSET else message.extra
    body = Body(_listed(message.parts, "parts"), message.metadata, extra, message.name)
    is_plain = _is_plain(body)
    data = encode_body(body, max_bytes, is_plain)
    tokens = message.tokens
    if tokens is None:
        tokens = _estimate(body, data)
    elif type(tokens) is not int or not 0 <= tokens <= MAX_TOKENS:
        raise UsageError(
            f"tokens must be a whole number from 0 to {MAX_TOKENS}, not {tokens!r}", path="tokens"
        )
    created_us = message.created_us
    if created_us is not None:
        check_time(created_us, "created_us")
    return Packed(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        body=data,
        tokens=tokens,
        is_ours=message.id is None,
        created_us=created_us,
        extra=body.extra,
        keeps_extra=keeps_extra,
        max_bytes=max_bytes,
        name=message.name,
        given_digest=message.digest,
    )


def _check_digest(value: bytes) -> None:
    if type(value) is not bytes or not 0 < len(value) <= MAX_DIGEST_BYTES:
        raise UsageError(
            f"digest must be 1 to {MAX_DIGEST_BYTES} bytes, not {value!r:.80}", path="digest"
        )


def pack_all(
    messages: Sequence[NewMessage], new_id: Callable[[], str], max_bytes: int = MAX_MESSAGE_BYTES
) -> list[Packed]:
    """Pack a batch; an empty one is refused."""
    batch = messages if type(messages) is list else _listed(messages, "messages")
    if not batch:
        raise UsageError("there is no message to append: give at least one", path="messages")
    if len(batch) == 1:
        return [pack(batch[0], new_id, max_bytes)]
    make_id = new_id.next(len(batch)).__next__ if isinstance(new_id, IdMaker) else new_id
    packed: list[Packed] = []
    try:
        for message in batch:
            packed.append(pack(message, make_id, max_bytes))  # noqa: PERF401  counts how far it got
    except UsageError as error:
        where = f"messages[{len(packed)}]"
        path = where if error.path == "message" else f"{where}.{error.path}"
        raise type(error)(f"{where}: {error}", path=path) from error
    return packed


def _listed(values: Iterable[Any], what: str) -> list[Any]:
    if type(values) is list:
        return values.copy()
    try:
        return list(values)
    except TypeError:
        raise UsageError(f"{what} must be a list, not {a_kind(values)}", path=what) from None


def encode_body(body: Body, max_bytes: int = MAX_MESSAGE_BYTES, is_plain: bool = False) -> bytes:
    """Encode a body, and make sure that it will be read back equal."""
    try:
        files = files_in(body.parts)
        said = replace(body, parts=without_files(body.parts, files)) if files else body
        data = _encode_body(said)
        same = is_plain or _is_read_back(data, said)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as error:
        refuse_body(body)
        found = _PLACE.search(str(error))
        where = found[1] if found else "message"
        why = _PLACE.sub("", str(error))
        raise UsageError(f"{where} cannot be stored: {why}", path=where) from error
    if not same:
        refuse_body(body)
        raise UsageError("the message would not be read back as it is", path="message")
    data = joined(data, files)
    if len(data) > max_bytes:
        raise MessageTooLargeError(
            f"the message has {len(data)} bytes and the limit is {max_bytes}: "
            "store large content elsewhere and append a reference to it",
            path="message",
        )
    return data


def _is_plain(body: Body) -> bool:
    """Whether a body is text and nothing else: it has one encoding, which reads back equal."""
    if body.metadata != {} or body.extra != {}:
        return False
    for part in body.parts:
        if type(part) is not TextPart or type(part.text) is not str or part.extra != {}:
            return False
    return True


def _estimate(body: Body, data: bytes) -> int:
    """Estimate a message's tokens: of a large answer of a tool, by what was encoded already."""
    part = body.parts[0] if len(body.parts) == 1 else None
    if (
        type(part) is not ToolResultPart
        or part.is_error
        or part.extra
        or body.metadata
        or body.extra
        or body.name
    ):
        return estimate_parts(body.parts)
    if isinstance(part.output, str):
        return estimate_parts(body.parts)
    start = len(_BEFORE_CALL_ID) + len(_encode_body(part.call_id)) + len(_BEFORE_OUTPUT)
    return MESSAGE_OVERHEAD + estimate_utf8(data[start : -len(_AFTER_OUTPUT)])


def _is_read_back(data: bytes, body: Body) -> bool:
    if _decode_body(data) != body:
        return False
    return not _may_be_deep(data) or _nesting(_json_of(body)) <= MAX_NESTING


def digest(role: str, body: Body) -> bytes:
    """Digest role, parts, metadata and name, whatever the order of keys in their objects."""
    said = Body(body.parts, body.metadata, name=body.name) if body.extra else body
    return hashlib.sha256(role.encode() + b"\0" + _encode_canonical(said)).digest()[:16]


def keeping_extra(new: Packed, extra: dict[str, Any]) -> Packed:
    """Return what an update writes: with the stored message's extra, where none was given."""
    if not new.keeps_extra or not extra:
        return new
    whole = Body(new.parts, new.metadata, extra, new.name)
    body = encode_body(whole, new.max_bytes, is_plain=True)
    return replace(new, body=body, extra=extra)


def decode_body(data: bytes, where: str) -> Body:
    """Decode a stored body; one that cannot be decoded is an error that says where."""
    try:
        said = json_in(data)
        body = _decode_body(said)
        return body if said is data else replace(body, parts=with_files(body.parts, data))
    except _UNDECODABLE as error:
        raise StoreCorruptError(f"message {where} cannot be decoded: {error}") from error


def encode_json(value: Any, what: str) -> bytes:
    """Encode plain JSON (a session's data, an overlay's metadata) that will be read back equal."""
    return _through(value, what)[0]


def copy_json(value: Any, what: str) -> Any:
    """Return plain JSON as it will be read back: a copy that shares nothing with it."""
    return _through(value, what)[1]


def _through(value: Any, what: str) -> tuple[bytes, Any]:
    try:
        data = _encode_body(value)
        copy = _decode_any(data)
        same = copy == value
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        same = False
    if not same or (_may_be_deep(data) and _nesting([value]) > MAX_NESTING):
        refuse_json(value, what)
        raise UsageError(f"{what} is not JSON", path=what)
    return data, copy


def decode_json(data: bytes, where: str) -> Any:
    """Decode stored JSON; what cannot be decoded is an error that says where."""
    try:
        return _decode_any(data)
    except _UNDECODABLE as error:
        raise StoreCorruptError(f"{where} cannot be decoded: {error}") from error


def decode_stored(decode: Callable[[bytes], T], data: bytes, otherwise: str) -> T:
    """Decode what is stored; `otherwise` says what is wrong with it when that fails."""
    try:
        return decode(data)
    except _UNDECODABLE as error:
        raise StoreCorruptError(f"{otherwise}: {error}") from error


def _may_be_deep(data: bytes) -> bool:
    return len(data) > 2 * MAX_NESTING and data.count(b"{") + data.count(b"[") > MAX_NESTING


def _nesting(values: Iterable[Any]) -> int:
    """Count the levels of lists and objects, one below the other."""
    depth = 0
    while level := [value for value in values if isinstance(value, (dict, list))]:
        depth += 1
        values = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value)
        ]
    return depth


def _json_of(body: Body) -> list[Any]:
    fields = [getattr(part, name) for part in body.parts for name in part.__struct_fields__]
    return [body.metadata, body.extra, *fields]


def refuse_body(body: Body) -> None:
    """Raise a UsageError that names the first place where a body is not JSON."""
    for what, value in (("metadata", body.metadata), ("extra", body.extra)):
        if not isinstance(value, dict):
            raise UsageError(f"{what} must be a dict, not {a_kind(value)}", path=what)
        refuse_json(value, what)
    for index, part in enumerate(body.parts):
        _refuse_part(part, f"parts[{index}]")


def _refuse_part(part: Any, path: str) -> None:
    if not isinstance(part, Part):
        raise UsageError(
            f"{path} is {a_kind(part)}: parts are TextPart, ToolCallPart ...; "
            "part_from_json makes one of a JSON object",
            path=path,
        )
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if name != "data" or not isinstance(part, FilePart):
            refuse_json(value, f"{path}.{name}")
        elif isinstance(value, str):
            raise UsageError(f"{path}.data is a string: give bytes", path=f"{path}.data")


def refuse_json(value: Any, path: str) -> None:
    """Raise a UsageError that names the first place where a value is not JSON."""
    rest = [(value, path, 0)]
    while rest:
        value, path, depth = rest.pop()
        if not isinstance(value, (dict, list)):
            _refuse_leaf(value, path)
            continue
        if depth >= MAX_NESTING:
            raise UsageError(
                f"{path[:80]}... is nested more than {MAX_NESTING} levels deep", path=path
            )
        children = _children(value, path)
        rest.extend((child, at, depth + 1) for at, child in reversed(children))


def _children(value: dict[Any, Any] | list[Any], path: str) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise UsageError(f"{path} has the key {key!r}: keys must be strings", path=path)
        _refuse_leaf(key, path)
    return [(f"{path}.{key}", item) for key, item in value.items()]


def _refuse_leaf(value: Any, path: str) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{path} has a lone surrogate at character {error.start}: it is not valid Unicode",
                path=path,
            ) from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{path} is {value}, which JSON cannot say: use null", path=path)
    try:
        same = _decode_any(_encode_body(value)) == value
    except (msgspec.MsgspecError, TypeError, RecursionError):
        same = False
    except ValueError:
        raise UsageError(f"{path} has too many digits: use a string", path=path) from None
    if not same:
        raise UsageError(f"{path} is {a_kind(value)}, which is not JSON", path=path)
