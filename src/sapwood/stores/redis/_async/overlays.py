"""Work on overlays: putting one over a range, and taking it away again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ....errors import (
    AlreadyExistsError,
    ConflictError,
    LeaseLostError,
    UsageError,
)
from ....model import EntryRef, Fence, NewOverlay, Overlay
from ....rules.codec import encode_json
from ..rows import (
    Covering,
    Range,
    document_of,
    encode_overlay,
    no_message,
    no_overlay,
    overlay_of,
    range_of,
)
from .context import AsyncContext
from .retiring import lift
from .tree import Look, MovedError, Placed


class _Piece(NamedTuple):
    """A part of what is shown: an overlay, or a span of one segment."""

    number: str
    """The overlay's; empty for a span."""
    first_segment: int
    first: int
    last_segment: int
    last: int
    tokens: int
    id: str


class AsyncRedisOverlays:
    """Work on overlays."""

    def __init__(self, context: AsyncContext) -> None:
        self._context = context

    async def add(
        self, owner: str, session: str, new: NewOverlay, id: str, tokens: int, fence: Fence | None
    ) -> Overlay:
        """Put an overlay over a range."""
        context = self._context
        ids = [it for it in (new.leaf, _message(new.first), _message(new.last)) if it is not None]
        look = await context.directory.look(owner, session, ids)
        await self._check_fence(look, fence)
        places = dict(zip(ids, look.places, strict=True))
        pieces = await self._pieces(owner, session, new.leaf)
        first = await self._ends(look, pieces, places, new.first)
        last = await self._ends(look, pieces, places, new.last)
        range = Range(*first[:2], *last[2:], tokens, id)
        covered = await self._check_range(look, pieces, range, new.snapshot)
        rest = Covering(
            covered_tokens=covered,
            created_by=session,
            created_us=look.now,
            metadata=msgspec.Raw(encode_json(new.metadata, "metadata")),
        )
        stored = encode_overlay(rest, new.summary)
        number = f"{look.version + 1:016d}"
        key = context.key
        commands = [
            ("HSET", key(look.tree, "y"), number, stored),
            ("HSET", key(look.tree, "w"), number, str(range)),
            ("HSET", key(look.tree, "q"), id, number),
            ("HSET", key(look.tree, "wr"), number, 1),
            ("ZADD", key(look.tree, f"v:{look.row.number}"), 0, range.member(number)),
            context.change(look, {"c": "", "ov": look.row.overlays + 1}),
        ]
        await context.apply(owner, look, commands, after_appends=True)
        return overlay_of(str(range).encode(), stored)

    async def _check_fence(self, look: Look, fence: Fence | None) -> None:
        if fence is None:
            return
        key = self._context.key(look.tree, f"k:{look.row.number}")
        stored = await self._context.link.run("HGET", key, fence.key)
        if stored is None or document_of(fence.key, stored).version != fence.version:
            raise LeaseLostError(
                f"the lease {fence.key!r} was taken over, released or cleared: "
                "nothing was written; begin again"
            )

    async def _pieces(self, owner: str, session: str, leaf: str | None) -> list[_Piece]:
        how = ("", "") if leaf is None else ("m", leaf)
        _, answer = await self._context.directory.ask_script(owner, session, "shape", *how)
        if answer[0] == b"none":
            raise no_message(session, str(leaf))
        return [_piece(it) for it in answer[1]]

    async def _ends(
        self,
        look: Look,
        pieces: Sequence[_Piece],
        places: dict[str, Placed | None],
        ref: EntryRef,
    ) -> tuple[int, int, int, int]:
        """Give the first and last position that a visible entry covers."""
        if ref.kind == "overlay":
            await self._number(look, ref.id)
            for piece in pieces:
                if piece.number and piece.id == ref.id:
                    return piece[1:5]
        else:
            place = places[ref.id]
            if place is None:
                raise no_message(look.row.id, ref.id)
            if _is_visible(pieces, place):
                return place.segment, place.depth, place.segment, place.depth
        raise ConflictError(
            f"{ref.kind} {ref.id!r} is not visible at the leaf: read the history again, then decide"
        )

    async def _number(self, look: Look, id: str) -> tuple[bytes, Range]:
        """Get the number and range of an overlay that is in force."""
        context, tree = self._context, look.tree
        number = await context.link.run("HGET", context.key(tree, "q"), id)
        stored = number and await context.link.run("HGET", context.key(tree, "w"), number)
        if stored is not None:
            range = range_of(stored)
            key = context.key(tree, f"v:{look.row.number}")
            member = range.member(number.decode())
            if await context.link.run("ZSCORE", key, member) is not None:
                return number, range
        raise no_overlay(look.row.id, id)

    async def _check_range(
        self, look: Look, pieces: Sequence[_Piece], range: Range, snapshot: str | None
    ) -> int:
        """Refuse a range that cannot be covered; give the tokens that are visible in it."""
        if range.first > range.last:
            raise UsageError("the first entry comes after the last one: swap them", path="first")
        context = self._context
        if await context.link.run("HEXISTS", context.key(look.tree, "q"), range.id):
            raise AlreadyExistsError(f"overlay {range.id!r} exists already: choose another id")
        since = None if snapshot is None else _read_snapshot(snapshot)
        inside = [it for it in pieces if range.first <= it.last and it.first <= range.last]
        spans = [
            n
            for it in inside
            if not it.number
            for n in (it.last_segment, max(it.first, range.first), min(it.last, range.last))
        ]
        args = (look.version, range.last_segment, range.last, range.first, *spans)
        answer = await context.link.ask("range", [context.keys.tree(look.tree)], *args)
        if answer is None:
            raise MovedError
        total, latest = answer
        if since is not None and int(latest) > since:
            raise ConflictError(
                "a message of the range was edited or deleted since the snapshot: "
                "read the history again and make a new summary"
            )
        return int(total) + sum(it.tokens for it in inside if it.number)

    async def in_force(self, owner: str, session: str) -> list[Overlay]:
        """List the overlays in force, oldest first."""
        _, (_, found) = await self._context.directory.ask_script(owner, session, "overlays")
        return [overlay_of(range, stored) for _, range, stored in found]

    async def undo(self, owner: str, session: str, overlay: str) -> Overlay:
        """Take an overlay out of force."""
        context = self._context
        look = await context.directory.look(owner, session)
        number, range = await self._number(look, overlay)
        stored = await context.link.run("HGET", context.key(look.tree, "y"), number)
        member = range.member(number.decode())
        commands = [
            ("ZREM", context.key(look.tree, f"v:{look.row.number}"), member),
            *await lift(context, look.tree, [number]),
            context.change(look, {"c": "", "ov": look.row.overlays - 1}),
        ]
        await context.apply(owner, look, commands, after_appends=True)
        return overlay_of(str(range).encode(), stored)


def _message(ref: EntryRef) -> str | None:
    return ref.id if ref.kind == "message" else None


def _piece(found: Sequence[Any]) -> _Piece:
    if found[0]:
        _, number, fs, fd, ls, ld, tokens, id = found
        return _Piece(number.decode(), fs, fd, ls, ld, int(tokens), id.decode())
    _, segment, first, last = found
    return _Piece("", segment, first, segment, last, 0, "")


def _is_visible(pieces: Sequence[_Piece], place: Placed) -> bool:
    return not place.entry.endswith(b"\n") and any(
        not piece.number
        and piece.last_segment == place.segment
        and piece.first <= place.depth <= piece.last
        for piece in pieces
    )


def _read_snapshot(snapshot: str) -> int:
    if not (isinstance(snapshot, str) and snapshot.isascii() and snapshot.isdigit()):
        raise UsageError(f"{snapshot!r} is not a history's snapshot", path="snapshot")
    return int(snapshot)
