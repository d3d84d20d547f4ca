"""Reading a path as it is shown, within limits: overlays, pins, and the sum of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....errors import StoreCorruptError
from ....model import ROOT, Entry, History, Overlay, Read, Root, Summary
from ....rules.codec import decode_json
from ....rules.tree import Place, Span, clip
from ...base.refusals import bad_pins
from ..documents import is_expired
from ..fold import PINS
from ..log_documents import LogDocument, record_key
from ..record import work_of
from ..rows import LogRow, message_of
from ..state import LaidOverlay, LogState
from ..view import LogView, ViewPiece
from ..work import AddOverlay, log_of, number_of, public
from .documents import values_of
from .logs import AsyncLogs
from .rows import FIRST_PAGE, find_rows, get_row, stream

PathEnd = tuple[Place | None, str | None, int]
"""A position, the id of the message there, and the tokens down to it."""


class ShownOverlay(NamedTuple):
    """An overlay that is shown, and the pinned messages shown after it."""

    laid: LaidOverlay
    pinned: list[LogRow]


async def _show(
    logs: AsyncLogs, view: LogView, leaf: Place | None, *, strict: bool = False
) -> list[Span | ShownOverlay]:
    """Return what is shown at a leaf, from the leaf up."""
    pieces = view.resolve(leaf)
    pins: list[LogRow] = []
    if any(isinstance(piece, LaidOverlay) for piece in pieces):
        pins = await _find_pins(logs, view, strict=strict)
    return [
        it
        if isinstance(it, Span)
        else ShownOverlay(it, [row for row in pins if view.covers(it, row.place)])
        for it in pieces
    ]


async def _find_pins(logs: AsyncLogs, view: LogView, *, strict: bool = False) -> list[LogRow]:
    """Return the live messages that a session pins, by depth.

    Pins that cannot be read are an error when it is `strict`, and none otherwise.
    """
    kept = view.own.documents.get(PINS)
    if kept is None or is_expired(kept, await logs.now()):
        return []
    [value] = await values_of(logs, [(view.own, PINS)])
    try:
        ids = _pinned_ids(value, view.own.session)
    except StoreCorruptError:
        if strict:
            raise
        return []
    live = [row for row in await find_rows(logs, view, ids) if row.body is not None]
    return sorted(live, key=lambda row: row.place.depth)


def _pinned_ids(data: bytes, session: str) -> list[str]:
    ids = decode_json(data, f"the document 'pins' of session {session!r}")
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise bad_pins(session)
    return ids


def _sum_of(view: LogView, shown: Sequence[Span | ShownOverlay], base: int) -> int:
    """Sum the tokens of what is shown at a leaf, whose running sum is `base`."""
    pieces: list[ViewPiece] = [it if isinstance(it, Span) else it.laid for it in shown]
    pinned = [row.tokens for it in shown if isinstance(it, ShownOverlay) for row in it.pinned]
    return view.tokens(pieces, base) + sum(pinned)


async def context_at(logs: AsyncLogs, view: LogView, leaf: Place | None, base: int) -> int:
    """Sum the tokens of what a session is shown at a leaf."""
    return _sum_of(view, await _show(logs, view, leaf), base)


async def read(logs: AsyncLogs, view: LogView, query: Read) -> History:
    """Read a path as it is shown to a session."""
    own = view.own
    leaf, leaf_id, base = await end_of(logs, view, query.leaf)
    shown = await _show(logs, view, leaf, strict=query.overlays)
    pieces: Sequence[Span | ShownOverlay] = shown if query.overlays else list(view.spans(leaf))
    window = _HistoryWindow(logs, view, query)
    await window.fill(pieces)
    return History(
        entries=window.entries,
        leaf=ROOT if leaf_id is None else leaf_id,
        tip=ROOT if own.tip_id is None else own.tip_id,
        context_tokens=_sum_of(view, shown, base),
        more=window.more,
        bytes=window.bytes,
        snapshot=snapshot_of(view),
        data_at=view.public_data_at(leaf),
    )


def records_ahead(state: LogState, query: Read) -> list[int]:
    """Return the records in which the end of a history stands, as far as it is sure to be read."""
    tip, limit = state.tip, query.limit
    if (
        not query.backwards
        or limit is None
        or query.before is not None
        or query.max_bytes
        or tip is None
        or query.leaf not in (None, state.tip_id)
        or state.overlays
        or log_of(tip.segment) != state.log
    ):
        return []
    first = state.segments[number_of(tip.segment) - 1].first
    return state.records_of(number_of(tip.segment), max(first, tip.depth - limit), tip.depth)


async def end_of(logs: AsyncLogs, view: LogView, message: str | Root | None) -> PathEnd:
    """Return the end of the path to a message that a session sees; to the tip, if it is None."""
    own = view.own
    if message is None or message == own.tip_id:
        return own.tip, own.tip_id, own.tip_base
    if isinstance(message, Root):
        return None, None, 0
    row = await get_row(logs, view, message)
    return row.place, message, row.base


def snapshot_of(view: LogView) -> str:
    """Return how far each log was read that the session's paths touch."""
    logs = [view.own.log, *(log for log, _ in view.own.homes)]
    return ".".join(str(view.states[log].n) for log in logs)


class _HistoryWindow:
    """The entries of a read, taken from one end until a limit is met."""

    def __init__(self, logs: AsyncLogs, view: LogView, query: Read) -> None:
        self._logs = logs
        self._view = view
        self._query = query
        self.entries: list[Entry] = []
        self.bytes = 0
        self.more = False

    async def fill(self, pieces: Sequence[Span | ShownOverlay]) -> None:
        """Take entries; what is shown comes from the leaf upwards."""
        backwards = self._query.backwards
        spans: list[Span] = []
        for piece in pieces if backwards else reversed(pieces):
            if isinstance(piece, Span):
                clipped = clip(piece, self._query.after, self._query.before)
                spans += [clipped] if clipped else []
                continue
            await self._take_spans(spans)
            spans = []
            if not self.more:
                await self._take_summary(piece)
            if self.more:
                break
        await self._take_spans(spans)
        if backwards:
            self.entries.reverse()

    async def _take_spans(self, spans: list[Span]) -> None:
        if self.more or not spans:
            return
        async for rows in stream(
            self._logs, self._view, spans, backwards=self._query.backwards, page=self._page()
        ):
            for row in rows:
                if row.body is None:
                    continue
                if not self._has_room(len(row.body)):
                    return
                self.entries.append(message_of(row, self._view, self._query.bodies))

    def _page(self) -> int | None:
        """Return how many messages to read at first: one more than there is room for."""
        limit = self._query.limit
        if limit is not None:
            return limit - len(self.entries) + 1
        return None if self._query.max_bytes is None else FIRST_PAGE

    async def _take_summary(self, shown: ShownOverlay) -> None:
        after, before = self._query.after, self._query.before
        laid = shown.laid
        if laid.last.depth <= after or (before is not None and laid.first.depth >= before):
            return
        [overlay] = await overlays_of(self._logs, self._view.own, [laid])
        size = len(overlay.summary.encode()) + sum(len(it.body or b"") for it in shown.pinned)
        if self._has_room(size):
            bodies = self._query.bodies
            pinned = [message_of(row, self._view, bodies) for row in shown.pinned]
            self.entries.append(Summary(overlay=overlay, pinned=pinned))

    def _has_room(self, size: int) -> bool:
        """Count an entry in, or note that it was cut off; the first always fits."""
        limit, most = self._query.limit, self._query.max_bytes
        too_many = limit is not None and len(self.entries) >= limit
        too_large = most is not None and bool(self.entries) and self.bytes + size > most
        if too_many or too_large:
            self.more = True
            return False
        self.bytes += size
        return True


async def overlays_of(
    logs: AsyncLogs, state: LogState, laid: Sequence[LaidOverlay]
) -> list[Overlay]:
    """Read overlays in force, as users see them."""
    [overlays] = await overlays_in(logs, [(state, laid)])
    return overlays


async def overlays_in(
    logs: AsyncLogs, asked: Sequence[tuple[LogState, Sequence[LaidOverlay]]]
) -> list[list[Overlay]]:
    """Read overlays of several sessions, with one look for all of them."""
    keys = [record_key(state.tree, it.log, it.n) for state, laid in asked for it in laid]
    found = iter(await logs.driver.get(keys) if keys else [])
    return [[made_overlay(it, _cover_of(it, next(found))) for it in laid] for _, laid in asked]


async def covers_of(
    logs: AsyncLogs, state: LogState, laid: Sequence[LaidOverlay]
) -> list[AddOverlay]:
    """Read the records by which overlays were made."""
    keys = [record_key(state.tree, it.log, it.n) for it in laid]
    found = await logs.driver.get(keys) if keys else []
    return [_cover_of(it, stored) for it, stored in zip(laid, found, strict=True)]


def _cover_of(laid: LaidOverlay, stored: LogDocument | None) -> AddOverlay:
    work = work_of(stored)
    if not isinstance(work, AddOverlay):
        raise StoreCorruptError(f"overlay {laid.id!r} is missing")
    return work


def made_overlay(laid: LaidOverlay, work: AddOverlay) -> Overlay:
    """Return an overlay as users see it."""
    return Overlay(
        id=work.id,
        first=public(laid.first),
        last=public(laid.last),
        summary=work.summary,
        tokens=work.tokens,
        covered_tokens=work.covered,
        metadata=decode_json(work.metadata, f"the metadata of overlay {work.id!r}"),
        created_by=work.created_by,
        created_us=work.created_us,
    )
