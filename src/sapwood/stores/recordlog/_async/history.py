"""Reading a path as it is shown, within limits."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreCorruptError
from ....model import ROOT, Entry, History, Overlay, Read, Summary
from ....rules.codec import decode_json
from ....rules.overlay import clip
from ....rules.tree import Place, Span
from ..log_documents import LogDocument, record_key
from ..place import log_of, number_of, public
from ..record import decode_record
from ..rows import LogRow, message_of
from ..state import LaidOverlay, LogState
from ..view import LogView
from ..work import AddOverlay
from .logs import AsyncLogs
from .message_places import get_place
from .rows import FIRST_PAGE, rows_at, stream
from .shown_path import ShownOverlay, show, sum_of


async def read(logs: AsyncLogs, view: LogView, query: Read) -> History:
    """Read a path as it is shown to a session."""
    own = view.own
    leaf, leaf_id, base = await _leaf(logs, view, query)
    shown = await show(logs, view, leaf, strict=query.overlays)
    pieces: Sequence[Span | ShownOverlay] = shown if query.overlays else list(view.spans(leaf))
    window = _HistoryWindow(logs, view, query)
    await window.fill(pieces)
    return History(
        entries=window.entries,
        leaf=ROOT if leaf_id is None else leaf_id,
        tip=ROOT if own.tip_id is None else own.tip_id,
        context_tokens=sum_of(view, shown, base),
        more=window.more,
        bytes=window.bytes,
        snapshot=snapshot_of(view),
    )


def records_ahead(state: LogState, query: Read) -> list[int]:
    """Return the records in which the end of a history stands, as far as it is sure to be read."""
    tip, limit = state.tip, query.limit
    if not query.backwards or limit is None or query.before is not None or query.max_bytes:
        return []
    if tip is None or query.leaf not in (None, state.tip_id) or state.overlays:
        return []
    if log_of(tip.segment) != state.log:
        return []
    first = state.segments[number_of(tip.segment) - 1].first
    return state.records_of(number_of(tip.segment), max(first, tip.depth - limit), tip.depth)


async def _leaf(
    logs: AsyncLogs, view: LogView, query: Read
) -> tuple[Place | None, str | None, int]:
    own = view.own
    if query.leaf is None or query.leaf == own.tip_id:
        return own.tip, own.tip_id, own.tip_base
    if query.leaf is ROOT:
        return None, None, 0
    assert isinstance(query.leaf, str)
    spotted = await get_place(logs, own, query.leaf)
    rows = await rows_at(logs, view, [spotted])
    return spotted.place, query.leaf, rows[spotted.place].base


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
                self.entries.append(message_of(row, self._view))

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
        overlay = await overlay_of(self._logs, self._view.own, laid)
        size = len(overlay.summary.encode()) + sum(len(it.body or b"") for it in shown.pinned)
        if self._has_room(size):
            self.entries.append(self._summary(overlay, shown.pinned))

    def _summary(self, overlay: Overlay, pinned: Sequence[LogRow]) -> Summary:
        return Summary(overlay=overlay, pinned=[message_of(row, self._view) for row in pinned])

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


async def overlay_of(logs: AsyncLogs, state: LogState, laid: LaidOverlay) -> Overlay:
    """Read an overlay in force."""
    [overlay] = await overlays_of(logs, state, [laid])
    return overlay


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
    work = decode_record(stored.data, stored.id).work if stored and stored.data else None
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
