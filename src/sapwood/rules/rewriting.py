"""What is written anew as it lies: what of it may change, and how far that has come."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ..errors import UsageError
from ..model import (
    DataVersion,
    Document,
    EntryRef,
    Message,
    NewMessage,
    NewOverlay,
    Overlay,
    Position,
    Rewritable,
    SessionPatch,
    SessionRecord,
)
from . import check, document_checks
from .codec import Packed, encode_json, pack
from .wording import a_kind

CHANGEABLE: dict[type, frozenset[str]] = {
    SessionRecord: frozenset({"title", "attributes"}),
    Message: frozenset({"parts", "metadata", "extra", "name"}),
    DataVersion: frozenset({"value"}),
    Overlay: frozenset({"summary", "metadata"}),
    Document: frozenset({"value"}),
}


def is_still(stored: Rewritable, given: Rewritable) -> bool:
    """Whether what is stored is what was given, as far as it may be written anew."""
    names = {*CHANGEABLE[type(given)], "version"}
    return all(
        getattr(stored, name) == getattr(given, name)
        for name in given.__struct_fields__
        if name in names
    )


class Replacement(NamedTuple):
    """What was given to a function, what it made of that, and what is stored of it in one piece:

    a message packed; of an overlay, the metadata; of a record, the attributes.
    """

    given: Rewritable
    made: Rewritable
    stored: Packed | bytes


def replacement(given: Rewritable, made: Rewritable, max_bytes: int) -> Replacement:
    """Return what replaces a thing; refuse what cannot be stored, or is another thing."""
    what = a_kind(given)
    if type(made) is not type(given):
        raise UsageError(
            f"the function made {a_kind(made)} of {what}: give it back, changed or not",
            path="function",
        )
    for name in given.__struct_fields__:
        if name not in CHANGEABLE[type(given)] and getattr(made, name) != getattr(given, name):
            raise UsageError(f"{name} of {what} cannot be rewritten", path=f"function.{name}")
    return Replacement(given, made, _stored(made, max_bytes))


def _stored(made: Rewritable, max_bytes: int) -> Packed | bytes:
    match made:
        case Message():
            return pack(_new_message(made), str, max_bytes)
        case DataVersion():
            check.instance(made.value, dict, "value")
            value = encode_json(made.value, "value")
            document_checks.document_value(value, max_bytes)
            return value
        case Overlay():
            ref = EntryRef.of("any")
            new = NewOverlay(first=ref, last=ref, summary=made.summary, metadata=made.metadata)
            check.new_overlay(new, max_bytes)
            return encode_json(made.metadata, "metadata")
        case Document():
            document_checks.document_value(made.value, max_bytes)
            return made.value
        case SessionRecord():
            check.patch(SessionPatch(title=made.title, attributes=made.attributes))
            return encode_json(made.attributes, "attributes")


def _new_message(made: Message) -> NewMessage:
    return NewMessage(
        id=made.id,
        role=made.role,
        parts=made.parts,
        metadata=made.metadata,
        extra=made.extra,
        name=made.name,
        tokens=made.tokens,
    )


class RewritePlace(NamedTuple):
    """How far an owner's things were gone over: the session, of what kind, and after which one.

    Without a session, these are the owner's own documents.
    """

    session: str | None = None
    step: int = 0
    after: Position | str | None = None

    def __str__(self) -> str:
        return _encode(self).decode()

    @classmethod
    def read(cls, text: str, steps: int) -> RewritePlace:
        """Read a cursor that was given out; the empty one is the beginning."""
        if not text:
            return cls()
        try:
            place = _decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            raise _bad_cursor(text) from error
        if not 0 <= place.step < steps:
            raise _bad_cursor(text)
        return place


def _bad_cursor(text: str) -> UsageError:
    return UsageError(f"{text!r:.80} is no cursor of a rewriting", path="after")


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(RewritePlace).decode
