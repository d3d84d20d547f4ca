"""What a search looks through: what sessions of a kind have, or all that one session sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ...model import EntryRef
from ...rules.codec import decode_json
from ...rules.fold import fold
from ...rules.inline_files import json_in
from ...rules.match import MessageFacts
from ...rules.query import Query
from ...rules.tree import is_on_path
from ..base.found import SUMMARY_ROLE, Said
from ..relational.position import public, unpack_place, whole_segment
from ..relational.rows import POS, SessionRow
from .connection import Connection
from .lookup import HOMES_BELOW, homes_above, is_seen
from .rows import MESSAGE_COLUMNS, OVERLAY_COLUMNS, sound_overlay, text_in

PositionRanges = list[tuple[int, int]]

_COLUMNS = f"{MESSAGE_COLUMNS}, s.number, s.id, s.owner, s.kind"
_MESSAGE = (
    f"SELECT {_COLUMNS} FROM message m LEFT JOIN session s ON s.home = m.home"
    " WHERE m.pos = ? AND m.body IS NOT NULL"
)
_MESSAGES = (
    f"SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN message m ON m.pos = j.value"
    " LEFT JOIN session s ON s.home = m.home WHERE m.body IS NOT NULL"
)
_BODIES = (
    "SELECT pos, body FROM message WHERE pos BETWEEN ? AND ? AND body IS NOT NULL"
    " ORDER BY pos DESC LIMIT ?"
)
_SUMMARY = f"SELECT {OVERLAY_COLUMNS} FROM overlay o WHERE number = ?"
_HEIRS = (
    f"{HOMES_BELOW} SELECT s.number, s.id, s.fork, s.owner, s.kind FROM down"
    " JOIN session s ON s.home = down.home ORDER BY s.number"
)

BODIES_AT_ONCE = 100


class Scope:
    """All that an owner's sessions of a kind have, or all that one session sees."""

    def __init__(
        self, tx: Connection, owner: int, session: SessionRow | None, kind: str | None
    ) -> None:
        self._tx = tx
        self._owner = owner
        self._session = session
        self._kind = kind if session is None else None

    def homes(self) -> list[int]:
        """Return the homes of what a session sees; some of what is there it may not see."""
        if self._session is None:
            return []
        home = self._session.home
        return [home, *homes_above(self._tx, home)]

    def ranges(self) -> PositionRanges:
        """Return the ranges of all that is in scope, and maybe more."""
        if self._session is None:
            where, args = "s.owner = ?1", (self._owner,)
        else:
            where, args = "s.number = ?1", (self._session.number,)
        segments = self._tx.rows(
            f"WITH RECURSIVE seen (home) AS (SELECT s.home FROM session s WHERE {where}"
            " UNION SELECT d.above FROM seen JOIN descent d ON d.home = seen.home)"
            " SELECT g.number FROM seen JOIN segment g ON g.home = seen.home",
            args,
        )
        overlays = self._tx.rows(
            "SELECT DISTINCT f.overlay FROM session s JOIN in_force f ON f.session = s.number"
            f" WHERE {where}",
            args,
        )
        ranges = [whole_segment(number) for (number,) in segments]
        return [*ranges, *((-number, -number) for (number,) in overlays)]

    def read(self, ranges: PositionRanges, sieve: BodySieve) -> Iterator[tuple[int, Said[int]]]:
        """Read ranges of positions through; yield what is in scope and may match."""
        for first, last in ranges:
            for pos in self.newest_in(first, last, sieve):
                said = self.at(pos)
                if said is not None:
                    yield pos, said

    def newest_in(self, first: int, last: int, sieve: BodySieve) -> Iterator[int]:
        """Yield where in a range something may match: messages from its end, summaries as given."""
        if first < 0:
            yield from range(first, last + 1)
            return
        while True:
            bodies = self._tx.rows(_BODIES, (first, last, BODIES_AT_ONCE))
            yield from (pos for pos, body in bodies if sieve.may_match(body))
            if len(bodies) < BODIES_AT_ONCE:
                return
            last = bodies[-1][0] - 1

    def at_all(self, positions: Sequence[int]) -> list[Said[int] | None]:
        """Return what stands at positions now, with one query for all messages among them."""
        messages = {
            row[POS]: row
            for row in self._tx.rows(_MESSAGES, (msgspec.json.encode(positions).decode(),))
        }
        return [
            self._message(messages[pos]) if pos in messages else self.at(pos) if pos < 0 else None
            for pos in positions
        ]

    def at(self, pos: int) -> Said[int] | None:
        """Return what stands at a position now; None when that is nothing, or not in scope."""
        row = self._tx.row(_SUMMARY if pos < 0 else _MESSAGE, (abs(pos),))
        if row is None:
            return None
        return self._summary(row) if pos < 0 else self._message(row)

    def _message(self, row: tuple[Any, ...]) -> Said[int] | None:
        *stored, number, session, owner, kind = row
        pos, home, id, role, _, _, created_at, *_ = stored
        if session is None or number is None:
            number, session, owner = self._heir(pos, home)
        elif not self._is_asked(kind):
            return None
        if owner != self._owner or session is None or number is None:
            return None
        if self._session is not None and not is_seen(self._tx, self._session, pos, home):
            return None
        if (text := text_in(tuple(stored))) is None:
            return None
        entry = EntryRef(kind="message", id=id)
        return Said(number, session, entry, role, public(pos), created_at, text)

    def _heir(self, pos: int, home: int) -> tuple[int | None, str | None, int | None]:
        """Return the oldest session in scope that stands on a message whose own is gone."""
        place = unpack_place(pos)
        for number, id, fork, owner, kind in self._tx.rows(_HEIRS, (home,)):
            is_on_it = place and is_on_path(place, unpack_place(fork), self._tx.lineage)
            if is_on_it and self._is_asked(kind):
                return number, id, owner
        return None, None, None

    def _is_asked(self, kind: str) -> bool:
        return self._kind in (None, kind)

    def _summary(self, row: tuple[Any, ...]) -> Said[int] | None:
        """Return a summary through the oldest session in scope that has it in force."""
        only = None if self._session is None else self._session.number
        found = self._tx.row(
            "SELECT s.number, s.id FROM in_force f JOIN session s ON s.number = f.session"
            " WHERE f.overlay = ?1 AND s.owner = ?2 AND (?3 IS NULL OR s.number = ?3)"
            " AND (?4 IS NULL OR s.kind = ?4) ORDER BY s.number",
            (row[0], self._owner, only, self._kind),
        )
        if found is None or (overlay := sound_overlay(row)) is None:
            return None
        number, session = found
        entry = EntryRef(kind="overlay", id=overlay.id)
        at, text = overlay.last, overlay.summary
        return Said(number, session, entry, SUMMARY_ROLE, at, overlay.created_us, text)

    def facts(self, said: Said[int]) -> MessageFacts:
        """Return what the filters of a query ask of it."""
        sql = "SELECT title, tags FROM profile WHERE session = ?"
        found: Any = self._tx.row(sql, (said.session,)) or (None, "[]")
        title, tags = found
        return MessageFacts(
            role=said.role,
            created_us=said.created_us,
            title=title,
            tags=[] if tags == "[]" else decode_json(tags, f"session {said.session_id!r}"),
        )


class BodySieve:
    """Sees in the stored bytes of a message that it cannot match, without decoding it."""

    def __init__(self, query: Query) -> None:
        self._sides = [
            [word for term in side.terms for word in term.words if _is_stored_as_is(word)]
            for side in query.branches
        ]
        self._quick = [[word.encode() for word in side] for side in self._sides]

    def may_match(self, body: bytes) -> bool:
        """Whether any side of the query may be in a body."""
        body = json_in(body)
        low = body.lower()
        if any(all(word in low for word in side) for side in self._quick):
            return True
        if low.isascii():
            return False
        folded = fold(body.decode())
        return any(all(word in folded for word in side) for side in self._sides)


def _is_stored_as_is(word: str) -> bool:
    """Whether a word of a text looks the same in JSON."""
    return word.isprintable() and not {*word} & {'"', "\\"}
