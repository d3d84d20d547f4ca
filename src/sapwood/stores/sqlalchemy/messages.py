"""Statements about messages: append, change, erase, find, read, and look around."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import bindparam, func, literal, or_, select, update

from ...errors import StoreCorruptError
from ...model import ChangeKind, Message, Root
from ...rules.codec import Packed, decode_body, keeping_extra
from ...rules.tree import Span, extend_lineage, spans_after
from ..relational._sync.messages import MessageStatements
from ..relational.bodiless import without_body
from ..relational.position import (
    DEPTH_BITS,
    MAX_DEPTH,
    bounds,
    pack_lineage,
    unpack_place,
    whole_segment,
)
from ..relational.rows import (
    KIND_DELETE,
    KIND_UPDATE,
    MARK,
    TOKENS,
    HasRoom,
    HomeNames,
    SeenMessage,
    SessionRow,
    first_digest,
    said_at,
    size_of,
    taken,
)
from ..relational.walk import covering, inherited_follower, on_path, parent_pos
from .data import data_after, data_at
from .feed import record_changes
from .listing import written_at
from .lookup import homes_with, id_at, in_parts, own_segments, rows_at
from .quick_read import (
    NO_LIMIT,
    from_the_beginning,
    from_the_end,
    latest_edit,
    positions_in,
    sizes_from_the_beginning,
    sizes_from_the_end,
)
from .sums import context_at, is_edited, leave_to_sum, renew_context
from .tables import Tables
from .tx import ResultRow, Tx, delete_by, select_by

RECENT_STEPS = 64
"""How many spans an append walks to know its context; beyond that it is worked out when asked."""

_EDIT = select_by("edit", "tree", "pos", of=["delta"])
_FORGET_EDIT = delete_by("edit", "tree", "pos")
_SEGMENTS_UNDER = select_by("segment", "tree", "home", "parent", of=["number"])
_SEGMENTS_OF = select_by("segment", "tree", "home", of=["number", "parent"])
_HOME_AT = select_by("message", "tree", "pos", of=["home"])


def message_row(
    it: Packed, *, owner: int, tree: int, pos: int, home: int, running: int, now: int
) -> dict[str, Any]:
    """Return a new message's row; it has a digest where one was given."""
    row = {
        "tree": tree,
        "pos": pos,
        "owner": owner,
        "home": home,
        "id": it.id,
        "role": MARK if it.is_mark else it.role,
        "tokens": it.tokens,
        "path_tokens": running,
        "version": 1,
        "created_at": said_at(it, now),
        "body": it.body or None,
    }
    return row if it.given_digest is None else row | {"digest": it.given_digest}


def write_after(
    tx: Tx, row: SessionRow, pos: int, batch: Sequence[Packed], now: int
) -> tuple[int, int | None]:
    """Write new messages after a position; return the first one's, and the context after them."""
    found: dict[int, tuple[int | None, int]] = {0: (None, 0)}
    if pos:
        found = {at: (home, sum) for at, home, sum in tx.rows(_two, tree=row.tree, pos=pos)}
    if pos not in found:
        raise StoreCorruptError(f"the message at position {pos} is missing")
    home, before = found[pos]
    if home == row.home and pos + 1 not in found:
        first = pos + 1
    else:
        first = new_segment(tx, row.tree, row.home, pos) << DEPTH_BITS | (pos & MAX_DEPTH) + 1
    running, rows = before, []
    place = {"owner": row.owner, "tree": row.tree, "home": row.home}
    numbered = zip(batch, tx.next_seqs(len(batch)), strict=True)
    for slot, (it, seq) in enumerate(numbered, first):
        running += it.tokens
        rows.append(message_row(it, **place, pos=slot, running=running, now=now) | seq)
    tx.add_all("message", rows)
    context = _context_after(tx, row, pos, before, running - before)
    figures = {"tip": first + len(batch) - 1, "ends": 1, "running": running, "context": context}
    figures |= written_at(now)
    figures["data_at"] = data_after(tx, row, pos) if batch[-1].data is None else figures["tip"]
    if not batch[-1].is_mark:
        said = said_at(batch[-1], now)
        figures |= {"messages": row.messages + len(batch)}
        figures |= {"active_at": said, "active_s": said // 1_000_000}
    tx.run(put_session, of_number=row.number, **figures)
    return first, context


def new_segment(tx: Tx, tree: int, home: int, parent: int) -> int:
    """Begin a segment under a position; return its number."""
    place = unpack_place(parent)
    lineage = extend_lineage(place, tx.lineage(place.segment) if place else [])
    held, packed = data_at(tx, tree, parent), pack_lineage(lineage)
    return tx.add("segment", tree=tree, home=home, parent=parent, lineage=packed, data_at=held)


def _context_after(tx: Tx, row: SessionRow, pos: int, running: int, added: int) -> int | None:
    """Return the context after an append; None when it is to be worked out when asked."""
    if pos == row.tip and row.context is not None:
        return row.context + added
    if not row.overlays and not is_edited(tx, row.tree):
        return running + added
    before = context_at(tx, row, pos, RECENT_STEPS)
    return None if before is None else before + added


def put_session(t: Tables) -> Any:
    """Return the statement that changes a session's figures."""
    return update(t.session).where(t.session.c.number == bindparam("of_number"))


def _two(t: Tables) -> Any:
    m = t.message.c
    pos = bindparam("pos", type_=m.pos.type)
    return select(m.pos, m.home, m.path_tokens).where(
        m.tree == bindparam("tree"), m.pos.between(pos, pos + 1)
    )


class SqlMessageStatements(MessageStatements[Tx]):
    """Statements about messages."""

    # Whatever is read upwards from the tip is looked up only as far as it is shown.
    spans_at_once = 1
    may_have_landed = True

    def rows_at(self, session: SessionRow, positions: Sequence[int]) -> dict[int, ResultRow]:
        return rows_at(self._tx, session.tree, positions)

    def home_names(self, session: SessionRow, homes: Collection[int]) -> HomeNames:
        return {home: self._tx.home_name(home) for home in homes}

    # changes

    def rewrite(self, session: SessionRow, pos: int, new: Packed, *, counts: bool = True) -> int:
        [(_, role, kept, stored, id, tokens)] = self._contents(session, [pos])
        first = first_digest(role, kept, stored, id)
        extra = decode_body(stored, id).extra if new.keeps_extra else {}
        body = keeping_extra(new, extra).body
        content = {"role": new.role, "tokens": new.tokens, "digest": first, "body": body}
        content["more"] = int(counts)
        self._tx.run(_rewrite, of_tree=session.tree, of_pos=pos, **content)
        return int(tokens)

    def erase(self, session: SessionRow, doomed: Sequence[SeenMessage]) -> dict[int, int]:
        positions = [it.pos for it in doomed]
        held = rows_at(self._tx, session.tree, positions)
        for some in in_parts(positions):
            self._tx.run(_empty, of_tree=session.tree, positions=some)
        own = sum(it.home == session.home for it in doomed)
        self._tx.run(_count_less, of_number=session.number, own=own)
        return {pos: row[TOKENS] for pos, row in held.items()}

    def note(self, session: SessionRow, deltas: dict[int, int], kind: ChangeKind) -> None:
        number = KIND_UPDATE if kind is ChangeKind.UPDATE else KIND_DELETE
        record_changes(self._tx, session, number, list(deltas))
        for pos, delta in deltas.items():
            self._keep_sum(session, pos, delta)
        self._tx.run(put_session, of_number=session.number, **written_at(self._tx.now()))
        renew_context(self._tx, session)

    def _keep_sum(self, session: SessionRow, pos: int, delta: int) -> None:
        """Note one message's change: in place at an end, as an edit elsewhere."""
        is_followed = self._tx.value(_followed, tree=session.tree, pos=pos) is not None
        if delta and not is_followed:
            self._tx.run(_add_to_sum, of_tree=session.tree, of_pos=pos, delta=delta)
            if pos == session.tip:
                self._tx.run(_add_to_running, of_number=session.number, delta=delta)
        if (before := self._tx.value(_EDIT, tree=session.tree, pos=pos)) is not None:
            self._tx.run(_FORGET_EDIT, tree=session.tree, pos=pos)
        kept = (before or 0) + (delta if is_followed else 0)
        self._tx.add("edit", tree=session.tree, pos=pos, delta=kept)
        if delta:
            leave_to_sum(self._tx, session, pos, is_followed)

    def quoting(self, session: SessionRow, positions: Sequence[int]) -> list[str]:
        return covering(self._tx.rows(_overlays, tree=session.tree), positions, self._tx.lineage)

    # looking around

    def followers(self, session: SessionRow, pos: int) -> set[int]:
        place = {"tree": session.tree, "home": session.home}
        segments = self._tx.rows(_SEGMENTS_UNDER, **place, parent=pos)
        found = {number << DEPTH_BITS | (pos & MAX_DEPTH) + 1 for (number,) in segments}
        # Only the session's own: an inherited one is on the path to the fork point.
        if pos and self._tx.value(_HOME_AT, tree=session.tree, pos=pos + 1) == session.home:
            found.add(pos + 1)
        return found | inherited_follower(session.fork, pos, self._tx.lineage)

    def ends(self, session: SessionRow) -> set[int]:
        segments = self._tx.rows(_SEGMENTS_OF, tree=session.tree, home=session.home)
        ends = {self._last_in(session, number) for number, _ in segments}
        if session.fork:
            ends.add(session.fork)
        return ends - {parent for _, parent in segments}

    def _last_in(self, session: SessionRow, segment: int) -> int:
        first, last = whole_segment(segment)
        return int(self._tx.value(_last, tree=session.tree, low=first, high=last))

    def homes_with(self, owner: int, id: str) -> list[str]:
        return [session for (session,) in self._tx.rows(homes_with, owner=owner, id=id)]

    def own_segments(self, session: SessionRow, first: int, most: int) -> list[tuple[int, int]]:
        place = {"tree": session.tree, "home": session.home, "first": first, "most": most}
        return [(number, parent) for number, parent in self._tx.rows(own_segments, **place)]

    def gaps(self, session: SessionRow, leaf: int, after: int) -> list[ResultRow]:
        found: list[ResultRow] = []
        for span in spans_after(after, unpack_place(leaf), self._tx.lineage):
            rows = self._tx.rows(_gaps, **_of(session, span))
            found += [(pos, id, self._tx.home_name(home)) for pos, home, id in rows]
        return found

    # appending

    def first_digests(
        self, session: SessionRow, seen: Iterable[SeenMessage]
    ) -> dict[int, bytes | None]:
        rows = self._contents(session, [it.pos for it in seen])
        return {pos: first_digest(*found) for pos, *found, _ in rows}

    def _contents(self, session: SessionRow, positions: Sequence[int]) -> list[ResultRow]:
        return [
            row
            for some in in_parts(positions)
            for row in self._tx.rows(_contents, tree=session.tree, positions=some)
        ]

    def parent_ids(self, session: SessionRow, positions: Iterable[int]) -> dict[int, str | Root]:
        tx = self._tx
        above = {pos: parent_pos(pos, tx.lineage) for pos in positions}
        names = {at: id_at(tx, session.tree, at) for at in set(above.values())}
        for at, id in names.items():
            if id is None:
                raise StoreCorruptError(f"the message at position {at} is missing")
        return {pos: names[at] for pos, at in above.items()}

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
        statement = from_the_end if backwards else from_the_beginning
        if not bodies:
            statement = sizes_from_the_end if backwards else sizes_from_the_beginning
        rows: list[ResultRow] = []
        for span in spans:
            room = NO_LIMIT if most is None else most - len(rows)
            rows += self._tx.rows(statement, **_of(session, span), most=room)
        kept = taken(rows, has_room, bodies)
        whole = kept if bodies else [without_body(row) for row in kept]
        messages = self.messages_of(session, whole, names)
        return messages, sum(size_of(row, bodies) for row in kept)

    def depths_in(self, session: SessionRow, spans: list[Span]) -> list[tuple[int, bool]]:
        return sorted(
            (pos & MAX_DEPTH, bool(is_live))
            for span in spans
            for pos, is_live in self._tx.rows(positions_in, **_of(session, span))
        )

    def snapshot(self, session: SessionRow) -> int:
        return self._tx.value(latest_edit, tree=session.tree) or 0


def _of(session: SessionRow, span: Span) -> dict[str, int]:
    return {"tree": session.tree} | dict(zip(("low", "high"), bounds(span), strict=True))


def _contents(t: Tables) -> Any:
    m = t.message.c
    return select(m.pos, m.role, m.digest, m.body, m.id, m.tokens).where(
        m.tree == bindparam("tree"), m.pos.in_(bindparam("positions", expanding=True))
    )


def _rewrite(t: Tables) -> Any:
    m = t.message.c
    return (
        update(t.message)
        .where(m.tree == bindparam("of_tree"), m.pos == bindparam("of_pos"))
        .values(version=m.version + bindparam("more"))
    )


def _empty(t: Tables) -> Any:
    m = t.message.c
    return (
        update(t.message)
        .where(m.tree == bindparam("of_tree"), m.pos.in_(bindparam("positions", expanding=True)))
        .values(role="", tokens=0, digest=None, body=None, version=m.version + 1)
    )


def _count_less(t: Tables) -> Any:
    s = t.session.c
    return (
        update(t.session)
        .where(s.number == bindparam("of_number"))
        .values(messages=s.messages - bindparam("own"))
    )


def _overlays(t: Tables) -> Any:
    o = t.overlay.c
    return select(o.id, o.first, o.last).where(o.tree == bindparam("tree")).order_by(o.number)


def _followed(t: Tables) -> Any:
    m, g = t.message.c, t.segment.c
    tree, pos = bindparam("tree", type_=m.pos.type), bindparam("pos", type_=m.pos.type)
    after = select(m.pos).where(m.tree == tree, m.pos == pos + 1)
    under = select(g.number).where(g.tree == tree, g.parent == pos)
    return select(1).where(or_(after.exists(), under.exists()))


def _add_to_sum(t: Tables) -> Any:
    m = t.message.c
    return (
        update(t.message)
        .where(m.tree == bindparam("of_tree"), m.pos == bindparam("of_pos"))
        .values(path_tokens=m.path_tokens + bindparam("delta"))
    )


def _add_to_running(t: Tables) -> Any:
    s = t.session.c
    return (
        update(t.session)
        .where(s.number == bindparam("of_number"))
        .values(running=s.running + bindparam("delta"))
    )


def _last(t: Tables) -> Any:
    m = t.message.c
    return select(func.max(m.pos)).where(
        m.tree == bindparam("tree"), m.pos.between(bindparam("low"), bindparam("high"))
    )


def _gaps(t: Tables) -> Any:
    m = t.message.c
    return (
        select(m.pos, m.home, m.id)
        .where(
            m.tree == bindparam("tree"),
            m.pos.between(bindparam("low"), bindparam("high")),
            m.body.is_(None),
            m.role != literal(MARK, m.role.type),
        )
        .order_by(m.pos)
    )
