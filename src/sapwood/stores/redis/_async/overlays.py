"""Work on overlays: putting one over a range, and taking it away again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ....model import EntryRef, Fence, NewOverlay, Overlay
from ....rules.codec import encode_json
from ...base.refusals import (
    changed_since,
    no_message,
    no_overlay,
    not_shown,
    overlay_exists,
    range_order,
)
from ..look import Look, PlacedMessage
from ..rows import (
    OverlayDetails,
    OverlayRange,
    encode_row,
    overlay_of,
    range_of,
    read_snapshot,
)
from ..scripts import place_words
from .context import AsyncRedisWork, MovedError
from .deletion import release_overlays
from .extras import refuse_lost_or_closed


class _VisiblePiece(NamedTuple):
    """A part of what is shown: an overlay, or a span of one segment."""

    number: str
    """The overlay's; empty for a span."""
    first_segment: int
    first: int
    last_segment: int
    last: int
    tokens: int
    id: str


class AsyncRedisOverlays(AsyncRedisWork):
    """Work on overlays."""

    async def add(
        self,
        owner: str,
        session: str,
        new: NewOverlay,
        id: str,
        tokens: int,
        fences: Sequence[Fence],
    ) -> Overlay:
        """Put an overlay over a range."""
        context = self._context
        ids = [ref.id for ref in (new.first, new.last) if ref.kind == "message"]
        ids += [] if new.leaf is None else [new.leaf]
        look = await context.directory.look(owner, session, ids)
        await refuse_lost_or_closed(context, look, fences)
        places = dict(zip(ids, look.places, strict=True))
        pieces = await self._pieces(owner, session, new.leaf)
        first = await self._ends(look, pieces, places, new.first)
        last = await self._ends(look, pieces, places, new.last)
        range = OverlayRange(*first[:2], *last[2:], tokens, id)
        covered = await self._check_range(look, pieces, range, new.snapshot)
        rest = OverlayDetails(
            covered_tokens=covered,
            created_by=session,
            created_us=look.now,
            metadata=msgspec.Raw(encode_json(new.metadata, "metadata")),
        )
        # What its size counts comes last.
        stored = encode_row(rest) + b"\n" + new.summary.encode()
        number = f"{look.version + 1:016d}"
        commands = [
            *context.add_overlay(look.tree, look.row.number, number, range, stored),
            context.change(look, {"c": "", "ov": look.row.overlays + 1}),
        ]
        await context.apply(owner, look, commands, after_appends=True)
        return overlay_of(str(range).encode(), stored)

    async def _pieces(self, owner: str, session: str, leaf: str | None) -> list[_VisiblePiece]:
        _, answer = await self._context.directory.run_script(
            owner, session, "visible_pieces", *place_words(leaf)
        )
        if answer[0] == b"none":
            raise no_message(session, str(leaf))
        return [_piece(it) for it in answer[1]]

    async def _ends(
        self,
        look: Look,
        pieces: Sequence[_VisiblePiece],
        places: dict[str, PlacedMessage | None],
        ref: EntryRef,
    ) -> tuple[int, int, int, int]:
        """Return the first and last position that a visible entry covers."""
        if ref.kind == "overlay":
            await self._in_force(look, ref.id)
            for piece in pieces:
                if piece.number and piece.id == ref.id:
                    return piece[1:5]
        else:
            place = places[ref.id]
            if place is None:
                raise no_message(look.row.id, ref.id)
            if _is_visible(pieces, place):
                return place.segment, place.depth, place.segment, place.depth
        raise not_shown(ref)

    async def _in_force(self, look: Look, id: str) -> tuple[bytes, OverlayRange]:
        """Return the number and range of an overlay that is in force."""
        context, tree = self._context, look.tree
        number = await context.client.run("HGET", context.key(tree, "q"), id)
        stored = number and await context.client.run("HGET", context.key(tree, "w"), number)
        if stored is not None:
            range = range_of(stored)
            key = context.key(tree, f"v:{look.row.number}")
            member = range.member(number.decode())
            if await context.client.run("ZSCORE", key, member) is not None:
                return number, range
        raise no_overlay(look.row.id, id)

    async def _check_range(
        self, look: Look, pieces: Sequence[_VisiblePiece], range: OverlayRange, snapshot: str | None
    ) -> int:
        """Refuse a range that cannot be covered; return the tokens that are visible in it."""
        if range.first > range.last:
            raise range_order()
        context = self._context
        if await context.client.run("HEXISTS", context.key(look.tree, "q"), range.id):
            raise overlay_exists(range.id)
        since = None if snapshot is None else read_snapshot(snapshot)
        inside = [it for it in pieces if range.first <= it.last and it.first <= range.last]
        spans = [
            n
            for it in inside
            if not it.number
            for n in (it.last_segment, max(it.first, range.first), min(it.last, range.last))
        ]
        key = context.keys.tree(look.tree)
        args = (look.version, range.last_segment, range.last, range.first, *spans)
        answer = await context.client.run_script("range_tokens", [key], *args)
        if answer is None:
            raise MovedError
        total, latest = answer
        if since is not None and int(latest) > since:
            raise changed_since()
        return int(total) + sum(it.tokens for it in inside if it.number)

    async def in_force(self, owner: str, session: str) -> list[Overlay]:
        """List the overlays in force, oldest first."""
        _, (_, found) = await self._context.directory.run_script(
            owner, session, "overlays_in_force"
        )
        return [overlay_of(range, stored) for _, range, stored in found]

    async def undo(
        self, owner: str, session: str, overlay: str, fences: Sequence[Fence]
    ) -> Overlay:
        """Take an overlay out of force."""
        context = self._context
        look = await context.directory.look(owner, session)
        await refuse_lost_or_closed(context, look, fences)
        number, range = await self._in_force(look, overlay)
        stored = await context.client.run("HGET", context.key(look.tree, "y"), number)
        member = range.member(number.decode())
        commands = [
            ("ZREM", context.key(look.tree, f"v:{look.row.number}"), member),
            *await release_overlays(context, look.tree, [number]),
            context.change(look, {"c": "", "ov": look.row.overlays - 1}),
        ]
        await context.apply(owner, look, commands, after_appends=True)
        return overlay_of(str(range).encode(), stored)


def _piece(found: Sequence[Any]) -> _VisiblePiece:
    if found[0]:
        _, number, fs, fd, ls, ld, tokens, id = found
        return _VisiblePiece(number.decode(), fs, fd, ls, ld, int(tokens), id.decode())
    _, segment, first, last = found
    return _VisiblePiece("", segment, first, segment, last, 0, "")


def _is_visible(pieces: Sequence[_VisiblePiece], place: PlacedMessage) -> bool:
    return not place.entry.endswith(b"\n") and any(
        not piece.number
        and piece.last_segment == place.segment
        and piece.first <= place.depth <= piece.last
        for piece in pieces
    )
