"""Rows to records."""

from __future__ import annotations

import logging
from typing import Any

from ...errors import StoreCorruptError
from ...model import Message, Overlay
from ...rules.codec import Body, decode_body, decode_json, digest
from ...rules.text import stored_text
from ..relational.position import DEPTH_BITS, MAX_DEPTH, public
from ..relational.rows import BODY, HOME, ID, POS, HomeNames
from .checksum import checksum
from .connection import Connection

logger = logging.getLogger(__name__)

MESSAGE_COLUMNS = (
    "m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at, m.body, m.checksum"
)
# Without bodies there are no checksums: these cover all of a message.
SIZE_COLUMNS = "m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at, length(m.body)"
# Texts as bytes: one that is not UTF-8 would else stop whoever only counts, or takes it away.
OVERLAY_COLUMNS = (
    "o.number, o.id, o.first, o.last, o.tokens, o.covered_tokens,"
    " CAST(coalesce(o.created_by, '') AS BLOB), o.created_at, o.metadata,"
    " CAST(coalesce(o.summary, '') AS BLOB), o.checksum"
)


def message_of(tx: Connection, row: tuple[Any, ...], names: HomeNames) -> Message:
    """Make a message of its row; `names` is filled as homes are met."""
    pos, home, id, role, tokens, version, created_at, data, kept = row
    if home not in names:
        names[home] = tx.value("SELECT id FROM session WHERE home = ?", (home,))
    body = decode_body(data, id)
    if checksum(row[:-1]) != kept:
        raise _changed_message(row)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        extra=body.extra,
        name=body.name,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=names[home],
        tokens=tokens,
        version=version,
        created_us=created_at,
    )


def refuse_if_changed(row: tuple[Any, ...]) -> None:
    """Raise when a message's row, deleted or not, is not as it was written."""
    if checksum(row[:-1]) != row[-1]:
        raise _changed_message(row)


def _changed_message(row: tuple[Any, ...]) -> StoreCorruptError:
    at, id = public(row[POS]), row[ID]
    return StoreCorruptError(
        f"message {id!r} at position {at.segment}.{at.depth} is not as it was written: "
        "it can only come back from a backup"
    )


def before_change(tx: Connection, pos: int) -> tuple[Message, bytes]:
    """Return a live message, whoever wrote it, and its digest as it was first appended."""
    kept, *row = tx.row(f"SELECT m.digest, {MESSAGE_COLUMNS} FROM message m WHERE pos = ?", (pos,))
    message = message_of(tx, tuple(row), {row[HOME]: None})
    said = Body(message.parts, message.metadata, name=message.name)
    found: bytes = digest(message.role, said)
    return message, found if kept is None else kept


def overlay_of(row: tuple[Any, ...]) -> Overlay:
    """Make an overlay of its row; raise when it is not as it was written."""
    _, id, first, last, tokens, covered, created_by, created_at, metadata, summary, kept = row
    ours = (id, first, last, tokens, covered, _text(created_by), created_at)
    if checksum((*ours, metadata, _text(summary))) != kept:
        raise StoreCorruptError(
            f"overlay {id!r} is not as it was written: undo it to read what it covers, "
            "or take it from a backup"
        )
    return overlay_as_found(row)


def missing_overlay(session: str) -> StoreCorruptError:
    """Return the error for an overlay in force that has no row."""
    return StoreCorruptError(
        f"an overlay of session {session!r} is missing from the database: "
        "it can only come back from a backup"
    )


def overlay_as_found(row: tuple[Any, ...]) -> Overlay:
    """Make an overlay of its row, as far as that can be read."""
    _, id, first, last, tokens, covered, created_by, created_at, metadata, summary, _ = row
    return Overlay(
        id=id,
        first=public(first),
        last=public(last),
        summary=_text(summary),
        tokens=tokens,
        covered_tokens=covered,
        metadata={} if metadata == b"{}" else _metadata_as_found(metadata, id),
        created_by=_text(created_by),
        created_us=created_at,
    )


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _metadata_as_found(data: bytes, id: str) -> dict[str, Any]:
    try:
        found = decode_json(data, f"overlay {id!r}")
    except StoreCorruptError:
        return {}
    return found if isinstance(found, dict) else {}


def text_in(row: tuple[Any, ...]) -> str | None:
    """Return what is searched of a message's row; None of a damaged one.

    Whoever reads the message is told; the others are still to be found.
    """
    try:
        refuse_if_changed(row)
        return stored_text(row[BODY], row[ID])
    except StoreCorruptError as error:
        logger.warning("a search leaves something out: %s", error)
        return None


def sound_overlay(row: tuple[Any, ...]) -> Overlay | None:
    """Make an overlay of its row for a search; None of a damaged one."""
    try:
        return overlay_of(row)
    except StoreCorruptError as error:
        logger.warning("a search leaves something out: %s", error)
        return None


RECORD_COLUMNS = (
    "s.id, s.tip, s.tip_id, s.fork, s.context, s.messages, s.version, s.created_at, s.active_at,"
    " p.title, p.state, p.tags, p.budget, p.parent_kind, p.parent, p.attributes,"
    " p.model, p.source, p.end_reason, p.system, p.system_key, p.title_key, s.closed, s.data_at,"
    " s.kind, s.updated_at"
)
RECORD_TABLES = "standing s JOIN profile p ON p.session = s.number"
