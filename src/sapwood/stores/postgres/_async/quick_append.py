"""Appending in one call to the server, where all is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import MessageTooLargeError
from ....model import ROOT, Appended, Root
from ...base.append_request import Request, size_of
from ...base.extras import NO_EXTRAS
from ...relational.position import public
from ...relational.rows import written
from ..extras import EXTRA_TYPES, extra_values, is_to_plan
from ..rows import NEW_COLUMN_TYPES, new_columns
from ..words import body_words
from .tx import AsyncTx

# The server takes less than 1 GB at once, and needs some of that for itself.
MOST_BATCH_BYTES = 512 * 1024 * 1024

_HELD = "{s}.data_held(%s, %s, a.start)"
_KEEP_DATA = "{s}.keep_data(%s, %s, a.start, %s::bigint, %s::bytea)"
_APPEND = (
    f"SELECT a.start, a.now_us, '{{}}'::bigint[], {_HELD}"
    " FROM {s}.append(%s, %s, %s::bigint, %s::text[], %s, %s, %s, %s,"
    f" {NEW_COLUMN_TYPES}) a"
)
_APPEND_WITH = (
    f"SELECT a.start, a.now_us, a.versions, {_HELD}"
    " FROM {s}.append_with(%s, %s, %s::bigint, %s::text[], %s, %s,"
    f" %s, %s, {NEW_COLUMN_TYPES}, {EXTRA_TYPES}) a"
)
_KEEP_DIGESTS = "{s}.keep_digests(%s, %s, a.start, %s::bytea[])"
_ONE = (
    f"SELECT a.start, a.now_us, '{{}}'::bigint[], {_HELD}"
    " FROM {s}.append_one(%s, %s, %s::bigint, %s, %s, %s, %s::bigint, %s::bigint, %s, %s) a"
)
_EACH = (
    "SELECT a.nths, a.starts, a.now_us,"
    " {s}.data_held_each(%s::text[], %s::text[], a.nths, a.starts)"
    " FROM {s}.append_each(%s::text[], %s::text[], %s::bigint,"
    f" %s::boolean[], {NEW_COLUMN_TYPES}) a"
)


async def append_new(tx: AsyncTx, request: Request, *, is_repeated: bool) -> Appended | None:
    """Append a batch that is all new; None, and nothing written, when it has to be planned.

    When it is repeated because a connection was lost, our own ids may be stored, too.
    """
    owner, session, batch, parent, expected_tip, extras, *_ = request
    if extras is NO_EXTRAS and request.is_next_with_any_data and not request.has_digests:
        return await _append_one(tx, request, is_repeated)
    if request.expected_snapshot is not None:
        return None
    if request.expected_data is not None or batch[-1].is_mark:
        return None
    if extras is not NO_EXTRAS and is_to_plan(extras, MOST_BATCH_BYTES - size_of(request)):
        return None
    asked = [it.id for it in batch if is_repeated or not it.is_ours]
    if len(asked) > 1 and len(set(asked)) < len(asked):
        return None
    places = (*_named(parent), *_named(expected_tip))
    along = [] if extras is NO_EXTRAS else extra_values(extras)
    text = _APPEND if extras is NO_EXTRAS else _APPEND_WITH
    text, kept = _keeping(request, text)
    args = (*kept, owner, session, _time(tx), asked, *places, *new_columns(batch), *along)
    [found] = await tx.rows(text, args, often=not request.has_digests)
    return _appended(request, *found[-4:])


def _keeping(request: Request, text: str) -> tuple[str, tuple[Any, ...]]:
    """Return a call that also keeps the data and digests that were given, and its first values."""
    named = (request.owner, request.session)
    args: tuple[Any, ...] = named
    if request.data is not None:
        text, args = text.replace(_HELD, _KEEP_DATA), (*named, len(request.batch), request.data)
    if request.has_digests:
        digests = [it.given_digest for it in request.batch]
        text = text.replace("SELECT a.start", f"SELECT {_KEEP_DIGESTS}, a.start")
        args = (*named, digests, *args)
    return text, args


async def _append_one(tx: AsyncTx, request: Request, is_repeated: bool) -> Appended | None:
    it = request.batch[0]
    is_asked = is_repeated or not it.is_ours
    words = body_words(it.body, it.id)
    said = (it.id, it.role, it.tokens, it.created_us, it.body, words)
    text, kept = _keeping(request, _ONE)
    args = (*kept, request.owner, request.session, _time(tx), is_asked, *said)
    [found] = await tx.rows(text, args, often=True)
    return _appended(request, *found)


async def append_each(
    tx: AsyncTx, requests: Sequence[Request], *, is_repeated: bool
) -> list[Appended | None]:
    """Append one message for each request, in one transaction; None for those to be planned."""
    batch = [request.batch[0] for request in requests]
    owners = [request.owner for request in requests]
    sessions = [request.session for request in requests]
    asked = [is_repeated or not it.is_ours for it in batch]
    args = (owners, sessions, owners, sessions, _time(tx), asked, *new_columns(batch))
    [(nths, starts, now, held)] = await tx.rows(_EACH, args, often=True)
    start_of = dict(zip(nths, starts, strict=True))
    held_of = dict(zip(nths, held or [0] * len(nths), strict=True))
    return [
        _appended(request, start_of[n], now, (), held_of[n])
        for n, request in enumerate(requests, 1)
    ]


def _time(tx: AsyncTx) -> int | None:
    return tx.clock() if tx.clock is not None else None


def _appended(
    request: Request, start: int | None, now: int, versions: Sequence[int], held: int
) -> Appended | None:
    if start is None:
        return None
    batch = request.batch
    messages = written(batch, request.session, start, now, held)
    keys = [it.key for it in request.extras.documents]
    documents = dict(zip(keys, versions, strict=True))
    return Appended(
        messages=messages,
        written=len(batch),
        tip=batch[-1].id,
        documents=documents,
        data_at=None if request.data is None else public(start + len(batch) - 1),
    )


def _named(place: str | Root | None) -> tuple[str | None, bool]:
    return (place if isinstance(place, str) else None), place is ROOT


def refuse_large(request: Request) -> None:
    """Refuse a batch that is larger than what the server takes at once."""
    size = size_of(request)
    if size > MOST_BATCH_BYTES:
        raise MessageTooLargeError(
            f"the messages have {size} bytes together and PostgreSQL takes up to "
            f"{MOST_BATCH_BYTES} at once: append them in several calls",
            path="messages",
        )
