"""A read that the server did in one call: what to ask it, and its answer as a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Entry, History, Message, Read, Summary
from ..base.refusals import bad_pins
from .entries import SEP, position_of, take_messages
from .rows import id_or_root, name_of, overlay_of
from .scripts import place_words

_DEEPEST = 9_999_999_999
_SEP = SEP.encode()


def read_arguments(query: Read) -> list[Any]:
    """Return the arguments of the script `read_path`."""
    return [
        *place_words(query.leaf),
        "1" if query.overlays else "",
        min(query.after, _DEEPEST),
        _DEEPEST if query.before is None else min(query.before, _DEEPEST),
        -1 if query.limit is None else query.limit,
        -1 if query.max_bytes is None else query.max_bytes,
        "1" if query.backwards else "",
        "" if query.bodies else "1",
    ]


def history_of(answer: Sequence[Any], session: str, query: Read) -> History:
    """Make a history of what the script answered."""
    if answer[0] == b"pins":
        raise bad_pins(session)
    _, version, _, leaf, tip, context, _, more, pieces, _, data = answer
    entries: list[Entry] = []
    size = 0
    for piece in reversed(pieces) if query.backwards else pieces:
        if piece[0]:
            size += _take_summary(piece, entries, query.bodies)
            continue
        _, segment, first, home, stored = piece
        name = name_of(home)
        size += take_messages(stored, str(segment), first, name, entries, query.bodies)
    return History(
        entries=entries,
        leaf=id_or_root(leaf),
        tip=id_or_root(tip),
        context_tokens=int(context),
        more=bool(more),
        bytes=size,
        snapshot=version.decode(),
        data_at=position_of(data.decode()),
    )


def history_of_end(
    session: str,
    query: Read,
    version: bytes,
    record: Sequence[bytes],
    stored: Sequence[bytes],
    length: int,
) -> History | None:
    """Make a history of the end of a list, with the session's record; None when it is not all."""
    tip, id, context, _, _, data = record
    segment, depth, above, _ = tip.split(b" ")
    room, limit = int(depth) - int(above), query.limit
    if limit is None:
        # What was appended since the record was read is cut off.
        shown, is_all = stored[:room], len(stored) >= room
    else:
        # The list was counted from its end, so its end has to be the tip, with none missing above.
        shown = stored[-limit:]
        is_all = _is_end(stored, id) and len(stored) == min(room, limit + 1) and length == room
    if not is_all or (int(above) and (limit is None or limit >= room)):
        return None
    entries: list[Entry] = []
    first = int(depth) - len(shown) + 1
    size = take_messages(shown, segment.decode(), first, session, entries)
    return History(
        entries=entries,
        leaf=id_or_root(id),
        tip=id_or_root(id),
        context_tokens=int(context),
        more=limit is not None and len(stored) > limit,
        bytes=size,
        snapshot=version.decode(),
        data_at=position_of((data or b"").decode()),
    )


def _is_end(stored: Sequence[bytes], id: bytes) -> bool:
    """Whether entries end with the one of an id, and none of them was deleted."""
    if not stored or stored[-1].partition(b"\n")[0].rpartition(_SEP)[2] != id:
        return False
    return not any(it.endswith(b"\n") for it in stored)


def _take_summary(piece: Sequence[Any], entries: list[Entry], bodies: bool) -> int:
    """Add a summary with what is pinned under it; return their size."""
    _, range, stored, pins = piece
    found: list[Entry] = []
    size = sum(
        take_messages([entry], str(segment), depth, name_of(home), found, bodies)
        for segment, depth, home, entry in pins
    )
    pinned = [it for it in found if isinstance(it, Message)]
    entries.append(Summary(overlay=overlay_of(range, stored), pinned=pinned))
    return _body_size(stored) + size


def _body_size(entry: bytes) -> int:
    return len(entry) - entry.index(b"\n") - 1
