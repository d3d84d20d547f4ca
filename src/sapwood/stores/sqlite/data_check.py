"""The search for damage of data at positions, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...errors import StoreCorruptError
from ...model import Problem
from ...rules.codec import decode_json
from ..relational.position import DEPTH_BITS, public
from ..relational.problems import segment_problem
from ..relational.walk import parent_pos
from .connection import Connection
from .data import data_at, refuse_changed_data

_ALL = (
    "SELECT d.pos, d.previous, d.value, d.checksum, m.pos IS NOT NULL"
    " FROM data d LEFT JOIN message m ON m.pos = d.pos ORDER BY d.pos"
)
_UNNOTED = (
    "SELECT s.id FROM session s WHERE NOT s.has_data AND EXISTS (SELECT 1 FROM segment g"
    " WHERE g.home = s.home AND (g.data_at OR EXISTS (SELECT 1 FROM data d"
    f" WHERE d.pos BETWEEN g.number << {DEPTH_BITS} AND g.number << {DEPTH_BITS} | 0xffffff)))"
)
_NOTE_ALL = (
    "UPDATE session SET has_data = 1 WHERE tree IN (SELECT s.tree FROM session s JOIN segment g"
    " ON g.home = s.home WHERE g.data_at OR EXISTS (SELECT 1 FROM data d"
    f" WHERE d.pos BETWEEN g.number << {DEPTH_BITS} AND g.number << {DEPTH_BITS} | 0xffffff))"
)


def data_problems(tx: Connection) -> Iterator[Problem]:
    """Look for damaged versions, and for such as are not where they are looked for."""
    for row in tx.rows(_ALL):
        pos, previous, value, _, is_there = row
        at = public(pos)
        where = f"{at.segment}.{at.depth}"
        try:
            refuse_changed_data(row)
            decode_json(value, f"the data at {where}")
        except StoreCorruptError as error:
            yield Problem(kind="data", where=where, what=str(error))
        if not is_there:
            yield Problem(kind="data", where=where, what="its position is missing")
        elif previous != data_at(tx, parent_pos(pos, tx.lineage)):
            yield Problem(kind="data", where=where, what="the version before it is another one")
    for number, parent, kept in tx.rows("SELECT number, parent, data_at FROM segment"):
        if kept != data_at(tx, parent):
            yield segment_problem(number, "its data is another one")
    for (id,) in tx.rows(_UNNOTED):
        yield Problem(kind="session", where=id, what="it does not know of the data in its tree")


def rebuild_data(tx: Connection) -> None:
    """Rebuild where the data stands that each segment and each version goes on from."""
    # A segment follows one that was there before it, so that its number is lower.
    for number, parent, kept in tx.rows("SELECT number, parent, data_at FROM segment ORDER BY 1"):
        right = data_at(tx, parent)
        if kept != right:
            tx.run("UPDATE segment SET data_at = ? WHERE number = ?", (right, number))
    for row in tx.rows(_ALL):
        pos, previous, _, _, is_there = row
        right = data_at(tx, parent_pos(pos, tx.lineage)) if is_there else previous
        if right != previous:
            with suppress(StoreCorruptError):
                # What was damaged stays so: its checksum is not made anew.
                refuse_changed_data(row)
                _put_previous(tx, pos, right)
    tx.run(_NOTE_ALL, ())


def _put_previous(tx: Connection, pos: int, previous: int) -> None:
    sql = "UPDATE data SET previous = ?2, checksum = checksum_of(pos, ?2, value) WHERE pos = ?1"
    tx.run(sql, (pos, previous))
