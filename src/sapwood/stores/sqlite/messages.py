"""Statements about messages: append, change, erase, find, read, and look around."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Any

from ...model import Appended, ChangeKind, Message, Root
from ...rules.codec import Packed, keeping_extra
from ...rules.text import searchable
from ...rules.tree import Span, extend_lineage, spans_after
from ..relational._sync.messages import MessageStatements
from ..relational.bodiless import without_body
from ..relational.position import (
    DEPTH_BITS,
    MAX_DEPTH,
    bounds,
    pack_lineage,
    public,
    unpack_place,
    whole_segment,
)
from ..relational.rows import (
    BODY,
    KIND_APPEND,
    KIND_DELETE,
    KIND_UPDATE,
    MARK,
    POS,
    HasRoom,
    HomeNames,
    Row,
    SeenMessage,
    SessionRow,
    said_at,
    taken,
    written,
)
from ..relational.walk import covering, inherited_follower, on_path, parent_pos
from .checksum import checksum
from .connection import Connection
from .data import data_at, put_data
from .feed import KIND_REWRITE, latest_seq, note_erasure, record_change
from .lookup import id_at, missing_message
from .rows import MESSAGE_COLUMNS, SIZE_COLUMNS, before_change, message_of, refuse_if_changed
from .standing import leave_to_sum, put_standing
from .sums import context_at, renew_context

RECENT_STEPS = 64
"""How many spans an append walks to know its context; beyond that it is worked out when asked,
until `finish_deletions` has done so."""

_EXTENDABLE = (
    "SELECT s.number, s.owner, s.home, s.active_s, s.lead, t.pos, t.path_tokens, s.version,"
    " s.created_at, s.has_data, s.updated_at"
    " FROM owner o JOIN session s ON s.owner = o.number"
    f" JOIN message t ON t.pos BETWEEN s.tip AND s.tip | {MAX_DEPTH}"
    " WHERE o.name = ?1 AND s.id = ?2 AND s.grows AND NOT s.closed AND (s.fork = 0 OR ?3 IS NULL)"
    " AND NOT EXISTS (SELECT 1 FROM message WHERE home = s.home AND id = ?3)"
    " ORDER BY t.pos DESC LIMIT 1"
)
_INTO = "INSERT INTO message VALUES"
_ROW = "(?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)"
_INSERT = f"{_INTO} {_ROW}"
_RECORD_ONE = (
    "INSERT INTO change (owner, session, kind, first, last, at)"
    f" VALUES (?, ?, {KIND_APPEND}, ?, ?, ?)"
)
_KEEP_TIME = (
    "UPDATE session SET tip = ?, active_at = ?, active_s = ?, updated_at = ? WHERE number = ?"
)
_KEEP_UPDATED = "UPDATE session SET updated_at = ? WHERE number = ?"
_AT = f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos = ?"
_REWRITE = (
    "UPDATE message SET role = ?2, tokens = ?3, digest = ?4, body = ?5, version = ?6,"
    " checksum = checksum_of(pos, home, id, ?2, ?3, ?6, created_at, ?5) WHERE pos = ?1"
)
_EMPTY = (
    "UPDATE message SET role = '', tokens = 0, digest = NULL, version = version + 1, body = NULL,"
    " checksum = checksum_of(pos, home, id, '', 0, version + 1, created_at, NULL) WHERE pos = ?"
)
_IS_FOLLOWED = (
    "SELECT EXISTS (SELECT 1 FROM message WHERE pos = ?1 + 1)"
    " OR EXISTS (SELECT 1 FROM segment WHERE parent = ?1)"
)
_KEEP_EDIT = (
    "INSERT INTO edit VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
    " SET delta = delta + excluded.delta, seq = excluded.seq"
)
_FOLLOWERS = (
    "SELECT g.number << 24 | (g.parent & 0xffffff) + 1 FROM segment g"
    " WHERE g.parent = ?1 AND g.home = ?2"
    " UNION ALL SELECT pos FROM message WHERE pos = ?1 + 1 AND ?1 > 0 AND home = ?2"
)
_ENDS = "SELECT number, parent FROM segment WHERE home = ? ORDER BY number"
_LAST = "SELECT max(pos) FROM message WHERE pos BETWEEN ? AND ?"
_GAPS = (
    "SELECT m.pos, m.id, s.id FROM message m LEFT JOIN session s ON s.home = m.home"
    f" WHERE m.pos BETWEEN ? AND ? AND m.body IS NULL AND m.role <> '{MARK}' ORDER BY m.pos"
)
_FORWARDS = (
    f"SELECT {MESSAGE_COLUMNS} FROM message m"
    " WHERE m.pos BETWEEN ? AND ? AND m.body IS NOT NULL ORDER BY m.pos LIMIT ?"
)
_BACKWARDS = _FORWARDS.replace("ORDER BY m.pos", "ORDER BY m.pos DESC")
_SIZES_FORWARDS = _FORWARDS.replace(MESSAGE_COLUMNS, SIZE_COLUMNS)
_SIZES_BACKWARDS = _BACKWARDS.replace(MESSAGE_COLUMNS, SIZE_COLUMNS)
_HOMES_WITH = (
    "SELECT s.id FROM session s CROSS JOIN message m ON m.home = s.home AND m.id = ?2"
    " WHERE s.owner = ?1 AND m.body IS NOT NULL"
)
_OWN_SEGMENTS = (
    "SELECT number, parent FROM segment WHERE home = ? AND number >= ? ORDER BY number LIMIT ?"
)
_LIVE_OR_DELETED = "SELECT pos, body IS NOT NULL FROM message WHERE pos BETWEEN ? AND ?"
_DELETED = f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE m.pos BETWEEN ? AND ? AND m.body IS NULL"
_NO_LIMIT = -1


def extend(tx: Connection, owner: str, session: str, it: Packed) -> Appended | None:
    """Put one new message after a tip that is the end of a segment of the session's own.

    This is what nearly every append is. None when it is not: then nothing was written.
    """
    found = tx.first(_EXTENDABLE, (owner, session, None if it.is_ours else it.id))
    if found is None or found[5] & MAX_DEPTH == MAX_DEPTH:
        return None
    number, owner_number, home, active_s, lead, tip, running, version, created = found[:-2]
    has_data, updated = found[-2:]
    now, pos, tokens = tx.clock(), tip + 1, it.tokens
    said = now if it.created_us is None else it.created_us
    tx.run(_INSERT, _row(it, pos, home, running + tokens, said))
    tx.run(_RECORD_ONE, (owner_number, number, pos, pos, now))
    if said // 1_000_000 != active_s or now // 1_000_000 != updated // 1_000_000:
        tx.run(_KEEP_TIME, (pos, said, said // 1_000_000, now, number))
    context = None if lead is None else lead + running + tokens
    held = data_at(tx, tip) if has_data else 0
    if it.data is not None:
        put_data(tx, number, pos, held, it.data, is_first=not has_data)
    return Appended(
        messages=written([it], session, pos, now, held),
        written=1,
        tip=it.id,
        context_tokens=context,
        stamp=(version, created),
        data_at=None if it.data is None else public(pos),
    )


def write_after(
    tx: Connection, row: SessionRow, pos: int, batch: Sequence[Packed], now: int
) -> tuple[int, int | None]:
    """Write new messages after a position; return the first one's, and the context after them."""
    home, tokens_before, is_followed = _end_at(tx, pos) if pos else (None, 0, 0)
    if home == row.home and not is_followed:
        first = pos + 1
    else:
        first = new_segment(tx, row.home, pos) << DEPTH_BITS | (pos & MAX_DEPTH) + 1
    last = first + len(batch) - 1
    running = list(accumulate((it.tokens for it in batch), initial=tokens_before))
    rows = [
        _row(it, at, row.home, tokens, said_at(it, now))
        for at, it, tokens in zip(range(first, last + 1), batch, running[1:], strict=True)
    ]
    tx.insert_all(_INTO, _ROW, rows)
    context = _context_after(tx, row, pos, tokens_before, running[-1])
    moved = row._replace(tip=last, context=context)
    if not batch[-1].is_mark:
        record_change(tx, row, KIND_APPEND, first, last, now)
        messages, said = row.messages + len(batch), said_at(batch[-1], now)
        moved = moved._replace(messages=messages, active_at=said)
    put_standing(tx, moved, grows=True, updated_at=now)
    return first, context


def _end_at(tx: Connection, pos: int) -> tuple[int, int, int]:
    """Return a message's home, the tokens up to it, and whether the position after it is taken."""
    found: tuple[int, int, int] | None = tx.row(
        "SELECT home, path_tokens, EXISTS (SELECT 1 FROM message WHERE pos = m.pos + 1)"
        " FROM message m WHERE pos = ?",
        (pos,),
    )
    if found is None:
        raise missing_message(pos)
    return found


def new_segment(tx: Connection, home: int, parent: int) -> int:
    """Begin a segment under a position; return its number."""
    place = unpack_place(parent)
    lineage = extend_lineage(place, tx.lineage(place.segment) if place else [])
    number: int = tx.value(
        "INSERT INTO segment (home, parent, lineage, data_at) VALUES (?, ?, ?, ?) RETURNING number",
        (home, parent, pack_lineage(lineage), data_at(tx, parent)),
    )
    return number


def _row(it: Packed, pos: int, home: int, running: int, said: int) -> tuple[Any, ...]:
    id, role, tokens, body = it.id, it.role, it.tokens, it.body or None
    if body is None:
        role = MARK
    kept = checksum((pos, home, id, role, tokens, 1, said, body))
    return pos, home, id, role, tokens, running, it.given_digest, said, body, kept


def _context_after(
    tx: Connection, row: SessionRow, pos: int, tokens_before: int, tokens_after: int
) -> int | None:
    """Return the context after an append; None when it is to be worked out when asked."""
    added = tokens_after - tokens_before
    if pos == row.tip and row.context is not None:
        return row.context + added
    if not row.overlays and not row.edited:
        return tokens_after
    before = context_at(tx, row, pos, RECENT_STEPS)
    if before is None:
        tx.run("INSERT OR IGNORE INTO stale VALUES (?)", (row.tree,))
        return None
    return before + added


class SqliteMessageStatements(MessageStatements[Connection]):
    """Statements about messages."""

    # Whatever is read upwards from the tip is looked up only as far as it is shown.
    spans_at_once = 1
    may_have_landed = False

    def rows_at(self, session: SessionRow, positions: Sequence[int]) -> dict[int, Row]:
        found = (self._tx.row(_AT, (pos,)) for pos in positions)
        return {row[POS]: row for row in found if row is not None}

    def messages_of(
        self, session: SessionRow, rows: Collection[Row], names: HomeNames
    ) -> list[Message]:
        return [message_of(self._tx, row, names) for row in rows]

    def home_names(self, session: SessionRow, homes: Collection[int]) -> HomeNames:
        sql = "SELECT id FROM session WHERE home = ?"
        return {home: self._tx.value(sql, (home,)) for home in homes}

    # changes

    def rewrite(self, session: SessionRow, pos: int, new: Packed, *, counts: bool = True) -> int:
        stored, first = before_change(self._tx, pos)
        body, version = keeping_extra(new, stored.extra).body, stored.version + counts
        self._tx.run(_REWRITE, (pos, new.role, new.tokens, first, body, version))
        if not counts and searchable(stored.parts) != searchable(new.parts):
            record_change(self._tx, session, KIND_REWRITE, pos, pos, self._tx.clock())
        return stored.tokens

    def erase(self, session: SessionRow, doomed: Sequence[SeenMessage]) -> dict[int, int]:
        held: dict[int, int] = {}
        for it in doomed:
            held[it.pos] = self._tx.value("SELECT tokens FROM message WHERE pos = ?", (it.pos,))
            self._tx.run(_EMPTY, (it.pos,))
            self._tx.run("UPDATE session SET apart = apart - 1 WHERE home = ?", (it.home,))
        note_erasure(self._tx)
        return held

    def note(self, session: SessionRow, deltas: dict[int, int], kind: ChangeKind) -> None:
        """Keep the sums right: in place at an end, as edits elsewhere."""
        now, number = self._tx.clock(), KIND_UPDATE if kind is ChangeKind.UPDATE else KIND_DELETE
        is_followed = False
        for pos, delta in deltas.items():
            record_change(self._tx, session, number, pos, pos, now, tree=session.tree)
            is_followed = self._keep_sum(session, pos, delta)
            if delta:
                leave_to_sum(self._tx, session, pos, is_followed)
        is_at_tip = list(deltas) == [session.tip] and not is_followed
        if not is_at_tip or session.context is None or self._is_covered(session):
            # At the tip the sum is part of the session's figure already.
            renew_context(self._tx, session._replace(edited=1))
        self._tx.run(_KEEP_UPDATED, (now, session.number))

    def _is_covered(self, session: SessionRow) -> bool:
        """Whether an overlay covers a tip that nothing follows: it ends there, then."""
        sql = "SELECT EXISTS (SELECT 1 FROM in_force WHERE session = ? AND last = ?)"
        return bool(self._tx.value(sql, (session.number, session.tip)))

    def _keep_sum(self, session: SessionRow, pos: int, delta: int) -> bool:
        """Note one message's change; return whether it is followed."""
        seq = self._tx.raw.last_insert_rowid()
        is_followed = bool(self._tx.value(_IS_FOLLOWED, (pos,)))
        if is_followed and delta and not session.edited:
            self._tx.run("UPDATE session SET edited = 1 WHERE tree = ?", (session.tree,))
        if delta and not is_followed:
            sql = "UPDATE message SET path_tokens = path_tokens + ? WHERE pos = ?"
            self._tx.run(sql, (delta, pos))
        self._tx.run(_KEEP_EDIT, (pos, delta if is_followed else 0, seq))
        return is_followed

    def quoting(self, session: SessionRow, positions: Sequence[int]) -> list[str]:
        sql = "SELECT id, first, last FROM overlay WHERE tree = ? ORDER BY number"
        return covering(self._tx.rows(sql, (session.tree,)), positions, self._tx.lineage)

    # looking around

    def followers(self, session: SessionRow, pos: int) -> set[int]:
        found = {child for (child,) in self._tx.rows(_FOLLOWERS, (pos, session.home))}
        return found | inherited_follower(session.fork, pos, self._tx.lineage)

    def ends(self, session: SessionRow) -> set[int]:
        segments = self._tx.rows(_ENDS, (session.home,))
        ends = {self._tx.value(_LAST, whole_segment(number)) for number, _ in segments}
        if session.fork:
            ends.add(session.fork)
        return ends - {parent for _, parent in segments}

    def homes_with(self, owner: int, id: str) -> list[str]:
        return [session for (session,) in self._tx.rows(_HOMES_WITH, (owner, id))]

    def own_segments(self, session: SessionRow, first: int, most: int) -> list[tuple[int, int]]:
        return self._tx.rows(_OWN_SEGMENTS, (session.home, first, most))

    def gaps(self, session: SessionRow, leaf: int, after: int) -> list[Row]:
        spans = spans_after(after, unpack_place(leaf), self._tx.lineage)
        return [row for span in spans for row in self._tx.rows(_GAPS, bounds(span))]

    # appending

    def first_digests(
        self, session: SessionRow, seen: Iterable[SeenMessage]
    ) -> dict[int, bytes | None]:
        return {it.pos: before_change(self._tx, it.pos)[1] if it.is_live else None for it in seen}

    def parent_ids(self, session: SessionRow, positions: Iterable[int]) -> dict[int, str | Root]:
        return {pos: id_at(self._tx, parent_pos(pos, self._tx.lineage)) for pos in positions}

    def on_path(self, session: SessionRow, positions: Collection[int], leaf: int) -> set[int]:
        return on_path(positions, leaf, self._tx.lineage)

    def write_after(
        self, session: SessionRow, pos: int, batch: Sequence[Packed], now: int
    ) -> tuple[int, int | None]:
        return write_after(self._tx, session, pos, batch, now)

    # reading

    def read_spans(
        self,
        session: SessionRow,
        spans: list[Span],
        *,
        backwards: bool,
        most: int | None,
        has_room: HasRoom | None,
        names: HomeNames,
        bodies: bool = True,
    ) -> tuple[list[Message], int]:
        if not bodies:
            return self._read_sizes(session, spans, backwards, most, has_room, names)
        tx, sql = self._tx, _BACKWARDS if backwards else _FORWARDS
        messages: list[Message] = []
        total = 0
        for span in spans:
            room = _NO_LIMIT if most is None else most - len(messages)
            with tx.stream(sql, (*bounds(span), room)) as rows:
                for row in rows:
                    size = len(row[BODY])
                    if has_room is not None and not has_room(size):
                        return messages, total
                    messages.append(message_of(tx, row, names))
                    total += size
        return messages, total

    def _read_sizes(
        self,
        session: SessionRow,
        spans: list[Span],
        backwards: bool,
        most: int | None,
        has_room: HasRoom | None,
        names: HomeNames,
    ) -> tuple[list[Message], int]:
        """Return messages without what they say; a length is read without the body."""
        sql = _SIZES_BACKWARDS if backwards else _SIZES_FORWARDS
        rows: list[Row] = []
        for span in spans:
            room = _NO_LIMIT if most is None else most - len(rows)
            rows += self._tx.rows(sql, (*bounds(span), room))
        kept = taken(rows, has_room, bodies=False)
        # Not as this store makes them of whole rows, which it checks.
        messages = super().messages_of(session, [without_body(row) for row in kept], names)
        return messages, sum(row[BODY] for row in kept)

    def depths_in(self, session: SessionRow, spans: list[Span]) -> list[tuple[int, bool]]:
        found: list[tuple[int, bool]] = []
        for span in spans:
            rows = self._tx.rows(_LIVE_OR_DELETED, bounds(span))
            found += [(pos & MAX_DEPTH, bool(is_live)) for pos, is_live in rows]
            for row in self._tx.rows(_DELETED, bounds(span)):
                refuse_if_changed(row)
        return sorted(found)

    def snapshot(self, session: SessionRow) -> int:
        return latest_seq(self._tx)
