"""The search for sessions that listings do not find by what their records say, and its repair."""

from __future__ import annotations

from collections.abc import Iterator

from ...model import Problem
from ...rules.codec import decode_json
from ..relational.listed import FoundBy, ListedRow, stray_tag
from .connection import Connection

_IS_LIST = "iif(json_valid(p.tags), json_type(p.tags) = 'array', 0)"
_TAGS = f"json_each(iif({_IS_LIST}, p.tags, '[]'))"
_LISTED = (
    "SELECT s.tree, s.number, s.owner, s.id, s.state, p.title_key, p.system_key,"
    f" (SELECT json_group_array(g.tag) FROM {_TAGS} j JOIN tag g"
    " ON g.owner = s.owner AND g.tag = j.value AND g.session = s.number),"
    " p.state, CAST(p.title AS BLOB), p.system, p.tags"
    f" FROM session s JOIN profile p ON p.session = s.number WHERE {_IS_LIST} ORDER BY s.number"
)
_NO_LIST = f"SELECT s.id FROM session s JOIN profile p ON p.session = s.number WHERE NOT {_IS_LIST}"
_STRAYS = (
    "SELECT g.owner, g.tag, g.session, coalesce(s.id, g.session) FROM tag g"
    " LEFT JOIN session s ON s.number = g.session AND s.owner = g.owner"
    " LEFT JOIN profile p ON p.session = s.number"
    f" WHERE p.session IS NULL OR {_IS_LIST} AND g.tag NOT IN (SELECT value FROM {_TAGS})"
)


def listing_problems(tx: Connection) -> Iterator[Problem]:
    """Look for sessions that are not found by what their records say, or by more than that."""
    for (id,) in tx.rows(_NO_LIST):
        yield Problem(kind="session", where=id, what="its tags cannot be decoded")
    for row in _listed(tx):
        yield from row.problems()
    for *_, session in tx.rows(_STRAYS):
        yield stray_tag(str(session))


def rebuild_listing(tx: Connection) -> None:
    """Let each session be found by what its record says, and by nothing else."""
    strays = [row[:3] for row in tx.rows(_STRAYS)]
    tx.run_many("DELETE FROM tag WHERE owner = ? AND tag = ? AND session = ?", strays)
    for row in _listed(tx):
        right = row.mended()
        if right is not None:
            _put_right(tx, row, right)


def _listed(tx: Connection) -> Iterator[ListedRow]:
    for tree, number, owner, id, *columns, found, state, title, system, tags in tx.rows(_LISTED):
        kept = FoundBy._make((*columns, frozenset(decode_json(found, f"session {id!r}"))))
        record = (state, title, system, decode_json(tags, f"session {id!r}"))
        yield ListedRow(tree, number, owner, id, kept, *record)


def _put_right(tx: Connection, row: ListedRow, right: FoundBy) -> None:
    tx.run("UPDATE session SET state = ? WHERE number = ?", (right.state, row.number))
    sql = "UPDATE profile SET title_key = ?, system_key = ? WHERE session = ?"
    tx.run(sql, (right.title_key, right.system_key, row.number))
    missing = [(row.owner, tag, row.number) for tag in right.tags - row.kept.tags]
    tx.run_many("INSERT INTO tag VALUES (?, ?, ?)", missing)
