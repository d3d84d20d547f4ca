"""A read that the server did in one call: its rows as a history."""

from __future__ import annotations

from typing import Any

from ...model import Entry, History, Message, Summary
from ...rules.codec import decode_body
from .position import DEPTH_BITS, MAX_DEPTH
from .rows import id_or_root, overlay_of

SUMMARY = 2


def history_of(rows: list[tuple[Any, ...]], *, limit: int | None, backwards: bool) -> History:
    """Make a history of the row about the read, and of those of its entries."""
    _, _, _, _, leaf, tip, context, snapshot, *_ = rows[0]
    more = limit is not None and len(rows) - 1 > limit
    shown = rows[1:-1] if more else rows[1:]
    if backwards:
        shown.reverse()
    return History(
        entries=[_entry(*row) for row in shown],
        leaf=id_or_root(leaf),
        tip=id_or_root(tip),
        context_tokens=context,
        more=more,
        bytes=sum([len(row[9]) for row in shown]),
        snapshot=str(snapshot),
    )


def _entry(
    kind: int,
    pos: int,
    last: int,
    home: str | None,
    id: str,
    role: str,
    tokens: int,
    version: int,
    created_at: int,
    body: bytes,
    metadata: bytes,
) -> Entry:
    if kind == SUMMARY:
        row = (0, id, pos, last, tokens, version, home, created_at, metadata, body)
        return Summary(overlay=overlay_of(row))
    said = decode_body(body, id)
    return Message(
        id=id,
        role=role,
        parts=said.parts,
        metadata=said.metadata,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=home,
        tokens=tokens,
        version=version,
        created_us=created_at,
    )
