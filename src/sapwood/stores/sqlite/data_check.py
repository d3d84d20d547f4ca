"""The search for damage of data at positions, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...errors import StoreCorruptError
from ...model import Problem
from ...rules.codec import decode_json
from ..relational.position import DEPTH_BITS
from ..relational.problems import data_problem, lost_mark, segment_problem
from ..relational.rows import MARK
from ..relational.walk import parent_pos
from .connection import Connection
from .data import data_at, refuse_changed_data

_ALL = (
    "SELECT d.pos, d.previous, d.value, d.checksum, m.pos IS NOT NULL"
    " FROM data d LEFT JOIN message m ON m.pos = d.pos ORDER BY d.pos"
)
_LOST = (
    "SELECT m.pos FROM message m LEFT JOIN data d ON d.pos = m.pos"
    f" WHERE m.body IS NULL AND m.role = '{MARK}' AND d.pos IS NULL ORDER BY m.pos"
)
_SEGMENTS = "SELECT number, parent, data_at FROM segment ORDER BY number"
_UNNOTED = (
    "SELECT s.tree, s.id, s.fork, EXISTS (SELECT 1 FROM segment g"
    " WHERE g.home = s.home AND (g.data_at OR EXISTS (SELECT 1 FROM data d"
    f" WHERE d.pos BETWEEN g.number << {DEPTH_BITS} AND g.number << {DEPTH_BITS} | 0xffffff)))"
    " FROM session s WHERE NOT s.has_data"
)


def data_problems(tx: Connection) -> Iterator[Problem]:
    """Look for damaged versions, and for such as are not where they are looked for."""
    lost = _lost(tx)
    yield from map(lost_mark, sorted(lost))
    for row in tx.rows(_ALL):
        pos, previous, value, _, is_there = row
        try:
            refuse_changed_data(row)
            decode_json(value, "the data")
        except StoreCorruptError as error:
            yield data_problem(pos, str(error))
        if not is_there:
            yield data_problem(pos, "its position is missing")
        elif previous != _right(tx, lost, previous, parent_pos(pos, tx.lineage)):
            yield data_problem(pos, "the version before it is another one")
    for number, parent, kept in tx.rows(_SEGMENTS):
        if kept != _right(tx, lost, kept, parent):
            yield segment_problem(number, "its data is another one")
    for _, id in _unnoted(tx):
        yield Problem(kind="session", where=id, what="it does not know of the data in its tree")


def rebuild_data(tx: Connection) -> None:
    """Rebuild where the data stands that each segment and each version goes on from."""
    lost = _lost(tx)
    # A segment follows one that was there before it, so that its number is lower.
    for number, parent, kept in tx.rows(_SEGMENTS):
        right = _right(tx, lost, kept, parent)
        if kept != right:
            tx.run("UPDATE segment SET data_at = ? WHERE number = ?", (right, number))
    for row in tx.rows(_ALL):
        pos, previous, _, _, is_there = row
        if not is_there:
            continue
        right = _right(tx, lost, previous, parent_pos(pos, tx.lineage))
        if right != previous:
            with suppress(StoreCorruptError):
                # What was damaged stays so: its checksum is not made anew.
                refuse_changed_data(row)
                _put_previous(tx, pos, right)
    for tree in sorted({tree for tree, _ in _unnoted(tx)}):
        tx.run("UPDATE session SET has_data = 1 WHERE tree = ?", (tree,))


def _lost(tx: Connection) -> set[int]:
    """Return where marks stand whose data is gone."""
    return {pos for (pos,) in tx.rows(_LOST)}


def _right(tx: Connection, lost: set[int], kept: int, above: int) -> int:
    """Return where the data stands that holds above; what was kept, if that is lost."""
    return kept if kept in lost else data_at(tx, above)


def _unnoted(tx: Connection) -> Iterator[tuple[int, str]]:
    """Yield the tree and id of sessions that see data and do not know of any."""
    for tree, id, fork, has_own in tx.rows(_UNNOTED):
        if has_own or data_at(tx, fork):
            yield tree, id


def _put_previous(tx: Connection, pos: int, previous: int) -> None:
    sql = "UPDATE data SET previous = ?2, checksum = checksum_of(pos, ?2, value) WHERE pos = ?1"
    tx.run(sql, (pos, previous))
