"""Work on messages that are there: change, erase, find, and look around."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ConflictError, StoreCorruptError
from ...model import Appended, Deleted, Gap, History, Leaf, Message, Read, Root
from ...rules.codec import Packed
from ...rules.tree import is_on_path, place_at
from ..base.refusals import no_message
from ..relational.position import MAX_DEPTH, public, unpack_place, whole_segment
from ..relational.rows import SeenMessage, SessionRow
from . import appending, gaps, reading
from .connection import Connection
from .erasure import note_erasure
from .feed import KIND_DELETE, KIND_UPDATE, record_change
from .lookup import find_seen, get_pos, get_session, is_seen, missing_message
from .rows import MESSAGE_COLUMNS, Names, first_digest, message_of
from .standing import leave_to_sum
from .sums import renew_context


class SqliteMessages:
    """Work on messages."""

    def __init__(self, tx: Connection) -> None:
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
        return appending.append(self._tx, owner, session, batch, parent, expected_tip)

    def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path."""
        return reading.read(self._tx, owner, session, query)

    def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        """Find messages by id."""
        row = get_session(self._tx, owner, session)
        names: Names = {row.home: row.id}
        seen = [find_seen(self._tx, row, id) for id in ids]
        found = [self._at(it.pos, names) if it and it.is_live else None for it in seen]
        for id, message in zip(ids, found, strict=True):
            if message is not None and message.id != id:
                raise StoreCorruptError(
                    f"message {id!r} is found as {message.id!r}: repair the database"
                )
        return found

    def update(self, owner: str, session: str, message: Packed) -> Message:
        """Replace a message's content."""
        row = get_session(self._tx, owner, session)
        seen = find_seen(self._tx, row, message.id)
        if seen is None or not seen.is_live:
            raise no_message(session, message.id)
        if seen.home != row.home:
            raise ConflictError(
                f"message {message.id!r} belongs to another session: edit it there, "
                "or append a new one"
            )
        delta = message.tokens - self._tokens(seen.pos)
        self._tx.run(
            "UPDATE message SET role = ?2, tokens = ?3, digest = ?4, body = ?5,"
            " version = version + 1, checksum ="
            " checksum_of(pos, home, id, ?2, ?3, version + 1, created_at, ?5) WHERE pos = ?1",
            (
                seen.pos,
                message.role,
                message.tokens,
                first_digest(self._tx, seen.pos),
                message.body,
            ),
        )
        self._note_change(row, [(seen.pos, delta)], KIND_UPDATE)
        return self._at(seen.pos, {row.home: row.id})

    def _tokens(self, pos: int) -> int:
        tokens: int = self._tx.value("SELECT tokens FROM message WHERE pos = ?", (pos,))
        return tokens

    def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        """Erase messages."""
        row = get_session(self._tx, owner, session)
        doomed: dict[str, SeenMessage] = {}
        for id in ids:
            seen = find_seen(self._tx, row, id)
            if seen is None:
                raise no_message(session, id)
            if seen.is_live:
                self._refuse_if_inherited(row, id, seen)
                doomed[id] = seen
        quoting = self._quoting(row, list(doomed.values()))
        deltas = [(seen.pos, -self._erase(seen)) for seen in doomed.values()]
        if deltas:
            self._note_change(row, deltas, KIND_DELETE)
            note_erasure(self._tx)
        return Deleted(ids=list(doomed), quoting_overlays=quoting)

    def _refuse_if_inherited(self, row: SessionRow, id: str, seen: SeenMessage) -> None:
        if seen.home == row.home:
            return
        home = self._tx.value("SELECT id FROM session WHERE home = ?", (seen.home,))
        if home is not None:
            raise ConflictError(
                f"message {id!r} belongs to session {home!r}: delete it through that one"
            )

    def _erase(self, seen: SeenMessage) -> int:
        """Empty a position; give the tokens that it held."""
        tokens = self._tokens(seen.pos)
        self._tx.run(
            "UPDATE message SET role = '', tokens = 0, digest = NULL, version = version + 1,"
            " body = NULL, checksum ="
            " checksum_of(pos, home, id, '', 0, version + 1, created_at, NULL) WHERE pos = ?",
            (seen.pos,),
        )
        self._tx.run(
            "UPDATE session SET apart = apart - 1 WHERE home = ?",
            (seen.home,),
        )
        return tokens

    def _quoting(self, row: SessionRow, doomed: list[SeenMessage]) -> list[str]:
        if not doomed:
            return []
        overlays = self._tx.rows(
            "SELECT id, first, last FROM overlay WHERE tree = ? ORDER BY number", (row.tree,)
        )
        return [
            id
            for id, first, last in overlays
            if any(self._covers(first, last, seen.pos) for seen in doomed)
        ]

    def _covers(self, first: int, last: int, pos: int) -> bool:
        place, end = unpack_place(pos), unpack_place(last)
        assert place is not None
        return place.depth >= first & MAX_DEPTH and is_on_path(place, end, self._tx.lineage)

    def _note_change(self, row: SessionRow, deltas: list[tuple[int, int]], kind: int) -> None:
        """Keep the sums right after messages changed: in place at an end, as edits elsewhere."""
        now = self._tx.clock()
        is_followed = False
        for pos, delta in deltas:
            record_change(self._tx, row, kind, pos, pos, now)
            is_followed = self._keep_sum(row, pos, delta)
            if delta:
                leave_to_sum(self._tx, row, pos, is_followed)
        is_at_tip = len(deltas) == 1 and deltas[0][0] == row.tip and not is_followed
        if not is_at_tip or row.context is None or self._is_covered(row, row.tip):
            # At the tip the sum is part of the session's figure already.
            renew_context(self._tx, row._replace(edited=1))

    def _is_covered(self, row: SessionRow, end: int) -> bool:
        """Tell whether an overlay covers a message that nothing follows: it ends there, then."""
        return bool(
            self._tx.value(
                "SELECT EXISTS (SELECT 1 FROM in_force WHERE session = ? AND last = ?)",
                (row.number, end),
            )
        )

    def _keep_sum(self, row: SessionRow, pos: int, delta: int) -> bool:
        """Note one message's change; tell whether it is followed."""
        seq = self._tx.raw.last_insert_rowid()
        is_followed = self._tx.value(
            "SELECT EXISTS (SELECT 1 FROM message WHERE pos = ?1 + 1)"
            " OR EXISTS (SELECT 1 FROM segment WHERE parent = ?1)",
            (pos,),
        )
        if is_followed and delta and not row.edited:
            self._tx.run("UPDATE session SET edited = 1 WHERE tree = ?", (row.tree,))
        if delta and not is_followed:
            self._tx.run(
                "UPDATE message SET path_tokens = path_tokens + ? WHERE pos = ?", (delta, pos)
            )
        self._tx.run(
            "INSERT INTO edit VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
            " SET delta = delta + excluded.delta, seq = excluded.seq",
            (pos, delta if is_followed else 0, seq),
        )
        return bool(is_followed)

    def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List what follows a message."""
        row = get_session(self._tx, owner, session)
        pos = get_pos(self._tx, row, message)
        names: Names = {row.home: row.id}
        return [
            self._at(child, names)
            for child in sorted(self._followers(row, pos))
            if self._tx.value("SELECT body IS NOT NULL FROM message WHERE pos = ?", (child,))
        ]

    def _followers(self, row: SessionRow, pos: int) -> list[int]:
        """Give the positions that a session sees right after a position."""
        rows = self._tx.rows(
            "SELECT g.number << 24 | (g.parent & 0xffffff) + 1 AS pos, g.home FROM segment g"
            " WHERE g.parent = ?1 AND g.home = ?2"
            " UNION ALL SELECT pos, home FROM message WHERE pos = ?1 + 1 AND ?1 > 0",
            (pos, row.home),
        )
        found = {child for child, home in rows if is_seen(self._tx, row, child, home)}
        return list(found | self._inherited_follower(row, pos))

    def _inherited_follower(self, row: SessionRow, pos: int) -> set[int]:
        """Give the next position on the path to the fork point, if there is one."""
        fork = unpack_place(row.fork)
        depth = (pos & MAX_DEPTH) + 1
        if fork is None or depth > fork.depth or not self._on_fork_path(row, pos):
            return set()
        place = place_at(depth, fork, self._tx.lineage)
        return {place.segment << 24 | place.depth} if place else set()

    def _on_fork_path(self, row: SessionRow, pos: int) -> bool:
        place, fork = unpack_place(pos), unpack_place(row.fork)
        return place is None or is_on_path(place, fork, self._tx.lineage)

    def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""
        return gaps.gaps(self._tx, owner, session, leaf, after)

    def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""
        row = get_session(self._tx, owner, session)
        segments = self._tx.rows(
            "SELECT number, parent FROM segment WHERE home = ? ORDER BY number", (row.home,)
        )
        branched = {parent for _, parent in segments}
        ends = {
            self._tx.value(
                "SELECT max(pos) FROM message WHERE pos BETWEEN ? AND ?", whole_segment(number)
            )
            for number, _ in segments
        }
        if row.fork:
            ends.add(row.fork)
        return [self._leaf(row, pos) for pos in sorted(ends - branched)]

    def _leaf(self, row: SessionRow, pos: int) -> Leaf:
        found = self._tx.row("SELECT id, body IS NOT NULL FROM message WHERE pos = ?", (pos,))
        if found is None:
            raise missing_message(pos)
        id, is_live = found
        message = self._at(pos, {row.home: row.id}) if is_live else None
        return Leaf(id=id, position=public(pos), message=message)

    def _at(self, pos: int, names: Names) -> Message:
        row = self._tx.row(f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos = ?", (pos,))
        return message_of(self._tx, row, names)
