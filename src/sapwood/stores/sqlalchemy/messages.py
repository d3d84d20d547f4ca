"""Work on messages that are there: change, erase, find, and look around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, or_, select, update

from ...errors import ConflictError
from ...model import Appended, Deleted, Gap, History, Leaf, Message, Read, Root
from ...rules.codec import Packed, decode_body, digest
from ...rules.tree import is_on_path, place_at
from ..base.refusals import no_message
from ..relational.position import DEPTH_BITS, MAX_DEPTH, place_of, public, unpack_place
from ..relational.rows import SeenMessage, SessionRow, Touches
from . import appending, gaps, reading
from .feed import KIND_DELETE, KIND_UPDATE, record_changes
from .lookup import (
    find_all_seen,
    find_seen,
    get_pos,
    get_session,
    in_parts,
    messages_at,
    rows_at,
)
from .rows import message_of
from .sums import TOKENS_IN_MESSAGE, leave_to_sum, renew_context
from .tables import Tables
from .tx import Tx


class SqlMessages:
    """Work on messages."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended:
        """Append a batch."""
        return appending.append_planned(self._tx, owner, session, batch, parent, expected_tip)

    def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path."""
        return reading.read(self._tx, owner, session, query)

    def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        """Find messages by id."""
        row = get_session(self._tx, owner, session)
        seen = find_all_seen(self._tx, row, ids)
        rows = rows_at(self._tx, row.tree, [it.pos for it in seen.values() if it.is_live])
        return [
            message_of(self._tx, rows[seen[id].pos]) if id in seen and seen[id].is_live else None
            for id in ids
        ]

    def update(self, owner: str, session: str, message: Packed) -> Message:
        """Replace a message's content."""
        row = get_session(self._tx, owner, session, Touches.CHANGES)
        seen = find_seen(self._tx, row, message.id)
        if seen is None or not seen.is_live:
            raise no_message(session, message.id)
        if seen.home != row.home:
            raise ConflictError(
                f"message {message.id!r} belongs to another session: edit it there, "
                "or append a new one"
            )
        role, tokens, kept, body = self._tx.row(_content, tree=row.tree, pos=seen.pos)
        self._tx.run(
            _rewrite,
            of_tree=row.tree,
            of_pos=seen.pos,
            role=message.role,
            tokens=message.tokens,
            digest=digest(role, decode_body(body, message.id)) if kept is None else kept,
            body=message.body,
        )
        self._note(row, {seen.pos: message.tokens - tokens}, KIND_UPDATE)
        return messages_at(self._tx, row.tree, [seen.pos])[0]

    def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        """Erase messages."""
        row = get_session(self._tx, owner, session, Touches.CHANGES)
        seen = find_all_seen(self._tx, row, ids)
        doomed: dict[str, SeenMessage] = {}
        for id in ids:
            if id not in seen:
                raise no_message(session, id)
            if seen[id].is_live:
                self._refuse_if_inherited(row, id, seen[id])
                doomed[id] = seen[id]
        if not doomed:
            return Deleted(ids=[], quoting_overlays=[])
        quoting = self._quoting(row, [it.pos for it in doomed.values()])
        self._erase(row, list(doomed.values()))
        return Deleted(ids=list(doomed), quoting_overlays=quoting)

    def _refuse_if_inherited(self, row: SessionRow, id: str, seen: SeenMessage) -> None:
        if seen.home == row.home:
            return
        home = self._tx.home_name(seen.home)
        if home is not None:
            raise ConflictError(
                f"message {id!r} belongs to session {home!r}: delete it through that one"
            )

    def _erase(self, row: SessionRow, doomed: list[SeenMessage]) -> None:
        """Empty positions, and keep the figures right."""
        positions = [it.pos for it in doomed]
        held = rows_at(self._tx, row.tree, positions)
        for some in in_parts(positions):
            self._tx.run(_empty, of_tree=row.tree, positions=some)
        own = sum(it.home == row.home for it in doomed)
        self._tx.run(_count_less, of_number=row.number, own=own)
        deltas = {pos: -held[pos][TOKENS_IN_MESSAGE] for pos in positions}
        self._note(row, deltas, KIND_DELETE)

    def _quoting(self, row: SessionRow, doomed: list[int]) -> list[str]:
        return [
            id
            for id, first, last in self._tx.rows(_overlays, tree=row.tree)
            if any(self._covers(first, last, pos) for pos in doomed)
        ]

    def _covers(self, first: int, last: int, pos: int) -> bool:
        place = place_of(pos)
        in_depth = place.depth >= first & MAX_DEPTH
        return in_depth and is_on_path(place, place_of(last), self._tx.lineage)

    def _note(self, row: SessionRow, deltas: dict[int, int], kind: int) -> None:
        """Keep the feed and the sums right after messages changed."""
        record_changes(self._tx, row, kind, list(deltas))
        for pos, delta in deltas.items():
            self._keep_sum(row, pos, delta)
        renew_context(self._tx, row)

    def _keep_sum(self, row: SessionRow, pos: int, delta: int) -> None:
        """Note one message's change: in place at an end, as an edit elsewhere."""
        is_followed = self._tx.value(_followed, tree=row.tree, pos=pos) is not None
        if delta and not is_followed:
            self._tx.run(_add_to_sum, of_tree=row.tree, of_pos=pos, delta=delta)
            if pos == row.tip:
                self._tx.run(_add_to_running, of_number=row.number, delta=delta)
        before = self._tx.value(_edit, tree=row.tree, pos=pos)
        if before is not None:
            self._tx.run(_forget_edit, tree=row.tree, pos=pos)
        kept = (before or 0) + (delta if is_followed else 0)
        self._tx.add("edit", tree=row.tree, pos=pos, delta=kept)
        if delta:
            leave_to_sum(self._tx, row, pos, is_followed)

    def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List what follows a message."""
        row = get_session(self._tx, owner, session)
        pos = get_pos(self._tx, row, message)
        return messages_at(self._tx, row.tree, sorted(self._followers(row, pos)))

    def _followers(self, row: SessionRow, pos: int) -> set[int]:
        """Give the positions that a session sees right after a position."""
        depth = (pos & MAX_DEPTH) + 1
        segments = self._tx.rows(_segments_under, tree=row.tree, home=row.home, parent=pos)
        found = {number << DEPTH_BITS | depth for (number,) in segments}
        if pos:
            # Only the session's own: an inherited one is on the path to the fork point.
            next_home = self._tx.value(_home_at, tree=row.tree, pos=pos + 1)
            if next_home == row.home:
                found.add(pos + 1)
        return found | self._inherited_follower(row, pos)

    def _inherited_follower(self, row: SessionRow, pos: int) -> set[int]:
        """Give the next position on the path to the fork point, if there is one."""
        fork, place = unpack_place(row.fork), unpack_place(pos)
        depth = (pos & MAX_DEPTH) + 1
        if fork is None or depth > fork.depth:
            return set()
        if place is not None and not is_on_path(place, fork, self._tx.lineage):
            return set()
        found = place_at(depth, fork, self._tx.lineage)
        return {found.segment << DEPTH_BITS | found.depth} if found else set()

    def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""
        return gaps.gaps(self._tx, owner, session, leaf, after)

    def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""
        row = get_session(self._tx, owner, session)
        segments = self._tx.rows(_segments_of, tree=row.tree, home=row.home)
        branched = {parent for _, parent in segments}
        ends = {self._last_in(row, number) for number, _ in segments}
        if row.fork:
            ends.add(row.fork)
        shown = sorted(ends - branched)
        rows = rows_at(self._tx, row.tree, shown)
        return [self._leaf(rows[pos]) for pos in shown]

    def _last_in(self, row: SessionRow, segment: int) -> int:
        first = segment << DEPTH_BITS
        found = self._tx.value(_last, tree=row.tree, low=first, high=first | MAX_DEPTH)
        return int(found)

    def _leaf(self, row: Any) -> Leaf:
        message = None if row[-1] is None else message_of(self._tx, row)
        return Leaf(id=row[2], position=public(row[0]), message=message)


def _content(t: Tables) -> Any:
    m = t.message.c
    return select(m.role, m.tokens, m.digest, m.body).where(
        m.tree == bindparam("tree"), m.pos == bindparam("pos")
    )


def _rewrite(t: Tables) -> Any:
    m = t.message.c
    return (
        update(t.message)
        .where(m.tree == bindparam("of_tree"), m.pos == bindparam("of_pos"))
        .values(version=m.version + 1)
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


def _edit(t: Tables) -> Any:
    e = t.edit.c
    return select(e.delta).where(e.tree == bindparam("tree"), e.pos == bindparam("pos"))


def _forget_edit(t: Tables) -> Any:
    e = t.edit.c
    return delete(t.edit).where(e.tree == bindparam("tree"), e.pos == bindparam("pos"))


def _segments_under(t: Tables) -> Any:
    g = t.segment.c
    return select(g.number).where(
        g.tree == bindparam("tree"), g.home == bindparam("home"), g.parent == bindparam("parent")
    )


def _segments_of(t: Tables) -> Any:
    g = t.segment.c
    return select(g.number, g.parent).where(
        g.tree == bindparam("tree"), g.home == bindparam("home")
    )


def _home_at(t: Tables) -> Any:
    m = t.message.c
    return select(m.home).where(m.tree == bindparam("tree"), m.pos == bindparam("pos"))


def _last(t: Tables) -> Any:
    m = t.message.c
    return select(func.max(m.pos)).where(
        m.tree == bindparam("tree"), m.pos.between(bindparam("low"), bindparam("high"))
    )
