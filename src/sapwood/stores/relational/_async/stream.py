"""All that a session sees, by position: the path to its fork point, then its own segments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from ....model import Message, MessagePage, Position
from ....rules.tree import Place, Span, refuse_missing
from ...base.refusals import no_position
from ..position import DEPTH_BITS, MAX_DEPTH
from ..rows import HomeNames, SessionRow
from .data import with_data_at

if TYPE_CHECKING:
    from .dialect import AsyncDialect

SEGMENTS_AT_ONCE = 64
_MOST_SEGMENTS = 1 << 63 - DEPTH_BITS


async def list_messages(
    dialect: AsyncDialect, row: SessionRow, after: Position | None, limit: int
) -> MessagePage:
    """List a page of what a session sees, after a position."""
    names: HomeNames = {row.home: row.id}
    found: list[Message] = []
    async for spans in spans_after(dialect, row, after):
        # One more is asked for, to see whether there is more.
        room = limit + 1 - len(found)
        messages, _ = await dialect.messages.read_spans(
            row, spans, backwards=False, most=room, has_room=None, names=names
        )
        await _refuse_missing(dialect, row, spans, messages, is_cut=len(messages) == room)
        found += messages
        if len(found) > limit:
            break
    listed = await with_data_at(dialect, row, found[:limit])
    return MessagePage(messages=listed, more=len(found) > limit)


async def spans_after(
    dialect: AsyncDialect, row: SessionRow, after: Position | None
) -> AsyncIterator[list[Span]]:
    """Yield what comes after a position, so much at a time as one statement reads."""
    at = None if after is None else _place_of(row, after)
    most = dialect.messages.spans_at_once
    path = await _inherited(dialect, row)
    first = 0
    if at is None or any(it.segment == at.segment for it in path):
        for some in _in_parts(_below(row, path, at), most):
            yield some
    else:
        first = at.segment
    while True:
        segments = await dialect.messages.own_segments(row, first, SEGMENTS_AT_ONCE)
        spans = [Span(it, (above & MAX_DEPTH) + 1, MAX_DEPTH) for it, above in segments]
        for some in _in_parts(_below(row, spans, at if first else None), most):
            yield some
        if len(segments) < SEGMENTS_AT_ONCE:
            return
        first, at = segments[-1][0] + 1, None


async def _inherited(dialect: AsyncDialect, row: SessionRow) -> list[Span]:
    """Return the path to a session's fork point, from the root down."""
    if not row.fork:
        return []
    shown = await dialect.sums.visible(row._replace(overlays=0), row.fork)
    return [it for it in shown if isinstance(it, Span)][::-1]


def _place_of(row: SessionRow, at: Position) -> Place:
    """Return the place that a position names, as far as there can be one."""
    text = at.segment
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_SEGMENTS))
    if not is_number or not 0 < int(text) < _MOST_SEGMENTS:
        raise no_position(row.id, at)
    return Place(int(text), at.depth)


def _below(row: SessionRow, spans: list[Span], at: Place | None) -> list[Span]:
    """Return what of spans comes after a position, which has to be in one of them."""
    if at is None:
        return spans
    for index, span in enumerate(spans):
        if span.segment == at.segment and span.first <= at.depth <= span.last:
            cut = [span._replace(first=at.depth + 1)] if at.depth < span.last else []
            return cut + spans[index + 1 :]
    raise no_position(row.id, Position(str(at.segment), at.depth))


def _in_parts(spans: list[Span], most: int) -> list[list[Span]]:
    return [spans[start : start + most] for start in range(0, len(spans), most)]


async def _refuse_missing(
    dialect: AsyncDialect,
    row: SessionRow,
    spans: Sequence[Span],
    messages: Sequence[Message],
    *,
    is_cut: bool,
) -> None:
    """See that nothing is missing between the messages of spans; a deleted message's row stays."""
    by_segment: dict[str, list[int]] = {}
    for message in messages:
        by_segment.setdefault(message.segment, []).append(message.depth)
    for span in spans:
        depths = by_segment.get(str(span.segment), [])
        is_last = is_cut and str(span.segment) == messages[-1].segment
        end = span.last
        if is_last or end == MAX_DEPTH:
            # Of its own segments it is not known how long they are.
            end = depths[-1] if depths else 0
        if depths != list(range(span.first, end + 1)):
            there = await dialect.messages.depths_in(row, [span._replace(last=end)])
            refuse_missing(((depth, depth) for depth, _ in there), span.first, end, row.id)
        if is_last:
            return
