"""Reading a path as it is shown, within limits."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreCorruptError
from ....model import ROOT, Entry, History, Overlay, Read, Summary
from ....rules.codec import decode_json
from ....rules.overlay import clip
from ....rules.tree import Place, Span
from ..place import log_of, number_of, public
from ..record import decode_record
from ..rows import Row, message_of
from ..state import Laid, State
from ..stored import Stored, record_key
from ..view import View
from ..work import Cover
from .desk import AsyncDesk
from .rows import FIRST_PAGE, rows_at, stream
from .showing import Shown, show, sum_of
from .spots import get_spot


async def read(desk: AsyncDesk, view: View, query: Read) -> History:
    """Read a path as it is shown to a session."""
    own = view.own
    leaf, leaf_id, base = await _leaf(desk, view, query)
    shown = await show(desk, view, leaf, strict=query.overlays)
    pieces: Sequence[Span | Shown] = shown if query.overlays else list(view.spans(leaf))
    window = _Window(desk, view, query)
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


def records_ahead(state: State, query: Read) -> list[int]:
    """Give the records in which the end of a history stands, as far as it is sure to be read."""
    tip, limit = state.tip, query.limit
    if not query.backwards or limit is None or query.before is not None or query.max_bytes:
        return []
    if tip is None or query.leaf not in (None, state.tip_id) or state.overlays:
        return []
    if log_of(tip.segment) != state.log:
        return []
    first = state.segments[number_of(tip.segment) - 1].first
    return state.records_of(number_of(tip.segment), max(first, tip.depth - limit), tip.depth)


async def _leaf(desk: AsyncDesk, view: View, query: Read) -> tuple[Place | None, str | None, int]:
    own = view.own
    if query.leaf is None or query.leaf == own.tip_id:
        return own.tip, own.tip_id, own.tip_base
    if query.leaf is ROOT:
        return None, None, 0
    assert isinstance(query.leaf, str)
    spotted = await get_spot(desk, own, query.leaf)
    rows = await rows_at(desk, view, [spotted])
    return spotted.place, query.leaf, rows[spotted.place].base


def snapshot_of(view: View) -> str:
    """Say how far each log was read that the session's paths touch."""
    logs = [view.own.log, *(log for log, _ in view.own.homes)]
    return ".".join(str(view.states[log].n) for log in logs)


class _Window:
    """The entries of a read, taken from one end until a limit is met."""

    def __init__(self, desk: AsyncDesk, view: View, query: Read) -> None:
        self._desk = desk
        self._view = view
        self._query = query
        self.entries: list[Entry] = []
        self.bytes = 0
        self.more = False

    async def fill(self, pieces: Sequence[Span | Shown]) -> None:
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
            self._desk, self._view, spans, backwards=self._query.backwards, page=self._page()
        ):
            for row in rows:
                if row.body is None:
                    continue
                if not self._has_room(len(row.body)):
                    return
                self.entries.append(message_of(row, self._view))

    def _page(self) -> int | None:
        """Give how many messages to read at first: one more than there is room for."""
        limit = self._query.limit
        if limit is not None:
            return limit - len(self.entries) + 1
        return None if self._query.max_bytes is None else FIRST_PAGE

    async def _take_summary(self, shown: Shown) -> None:
        after, before = self._query.after, self._query.before
        laid = shown.laid
        if laid.last.depth <= after or (before is not None and laid.first.depth >= before):
            return
        overlay = await overlay_of(self._desk, self._view.own, laid)
        size = len(overlay.summary.encode()) + sum(len(it.body or b"") for it in shown.pinned)
        if self._has_room(size):
            self.entries.append(self._summary(overlay, shown.pinned))

    def _summary(self, overlay: Overlay, pinned: Sequence[Row]) -> Summary:
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


async def overlay_of(desk: AsyncDesk, state: State, laid: Laid) -> Overlay:
    """Read an overlay in force."""
    [overlay] = await overlays_of(desk, state, [laid])
    return overlay


async def overlays_of(desk: AsyncDesk, state: State, laid: Sequence[Laid]) -> list[Overlay]:
    """Read overlays in force, as users see them."""
    [overlays] = await overlays_in(desk, [(state, laid)])
    return overlays


async def overlays_in(
    desk: AsyncDesk, asked: Sequence[tuple[State, Sequence[Laid]]]
) -> list[list[Overlay]]:
    """Read overlays of several sessions, with one look for all of them."""
    keys = [record_key(state.tree, it.log, it.n) for state, laid in asked for it in laid]
    found = iter(await desk.log.get(keys) if keys else [])
    return [[made_overlay(it, _cover_of(it, next(found))) for it in laid] for _, laid in asked]


async def covers_of(desk: AsyncDesk, state: State, laid: Sequence[Laid]) -> list[Cover]:
    """Read the records by which overlays were made."""
    keys = [record_key(state.tree, it.log, it.n) for it in laid]
    found = await desk.log.get(keys) if keys else []
    return [_cover_of(it, stored) for it, stored in zip(laid, found, strict=True)]


def _cover_of(laid: Laid, stored: Stored | None) -> Cover:
    work = decode_record(stored.data, stored.id).work if stored and stored.data else None
    if not isinstance(work, Cover):
        raise StoreCorruptError(f"overlay {laid.id!r} is missing")
    return work


def made_overlay(laid: Laid, work: Cover) -> Overlay:
    """Give an overlay as users see it."""
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
