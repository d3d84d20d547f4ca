"""A read that the server did in one call: its rows as a history."""

from __future__ import annotations

from typing import Any

from ...model import Entry, History, Message, Read, Summary
from ...rules.codec import decode_body
from ...rules.missing_messages import refuse_missing
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from ..relational.rows import overlay_of
from .rows import id_or_root

SUMMARY = 2


class Path:
    """A row about a read, and those of its entries, of which at most so many were asked for."""

    def __init__(self, rows: list[tuple[Any, ...]], query: Read, most: int | None) -> None:
        self._about, self._rows = rows[0], rows[1:]
        self._query = query
        self._is_cut = len(self._rows) == most
        self._live = [row for row in self._rows if row[9] is not None]
        self._more = query.limit is not None and len(self._live) > query.limit
        self.deleted = len(self._rows) - len(self._live)

    @property
    def is_enough(self) -> bool:
        """Whether all is here that is to be shown."""
        return self._more or not self._is_cut

    def history(self, session: str) -> History:
        """Make a history of it; a message that is missing is `StoreCorruptError`."""
        self._refuse_missing(session)
        _, _, _, _, leaf, tip, context, snapshot, *_ = self._about
        shown = self._live[:-1] if self._more else self._live
        if self._query.backwards:
            shown.reverse()
        return History(
            entries=[_entry(*row) for row in shown],
            leaf=id_or_root(leaf),
            tip=id_or_root(tip),
            context_tokens=context,
            more=self._more,
            bytes=sum([len(row[9]) for row in shown]),
            snapshot=str(snapshot),
        )

    def _refuse_missing(self, session: str) -> None:
        first, last = self._query.after + 1, self._about[1] & MAX_DEPTH
        if self._query.before is not None:
            last = min(last, self._query.before - 1)
        if self._is_cut:
            kind, pos, end = self._rows[-1][:3]
            if self._query.backwards:
                first = pos & MAX_DEPTH
            else:
                last = (end if kind == SUMMARY else pos) & MAX_DEPTH
        if len(self._rows) < last - first + 1:
            refuse_missing(sorted(map(_depths, self._rows)), first, last, session)


def _depths(row: tuple[Any, ...]) -> tuple[int, int]:
    """Give the first and the last depth that an entry stands for."""
    kind, pos, last = row[:3]
    return pos & MAX_DEPTH, (last if kind == SUMMARY else pos) & MAX_DEPTH


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
