"""Making a session a fork: standing on a path, or copying it into a tree of its own."""

from __future__ import annotations

from ....model import ForkPoint
from ...relational.position import DEPTH_BITS, MAX_DEPTH
from ...relational.rows import SessionRow
from ..words import home_word
from .lookup import get_pos
from .sums import context_at
from .tx import AsyncTx

_IN_FORCE = (
    " FROM {s}.in_force f WHERE f.tree = %s AND f.session = %s"
    " AND {s}.is_on_path(f.tree, f.last, %s)"
)
_ON_PATH = f"SELECT f.overlay{_IN_FORCE} ORDER BY f.overlay"
_TAKE_OVER = (
    "WITH taken AS (INSERT INTO {s}.in_force SELECT f.tree, %s, f.last, f.width, f.overlay"
    f"{_IN_FORCE} RETURNING 1) SELECT count(*) FROM taken"
)
_COPY_DOCUMENTS = (
    "INSERT INTO {s}.document (tree, session, key, version, updated_at, value)"
    " SELECT %s, %s, key, nextval('{s}.document_version'), updated_at, value"
    " FROM {s}.document WHERE tree = %s AND session = %s AND expires_at IS NULL"
)
_COPY_MESSAGES = (
    "INSERT INTO {s}.message (tree, pos, home, tokens, path_tokens, version, created_at, id, role,"
    " digest, body, words)"
    " SELECT %(tree)s, %(base)s | (m.pos & 16777215), %(home)s, m.tokens,"
    " sum(m.tokens) OVER (ORDER BY m.pos & 16777215), m.version, m.created_at, m.id, m.role,"
    " m.digest, m.body, ts_delete(m.words, '_h' || m.home) || array_to_tsvector(%(marks)s::text[])"
    " FROM {s}.visible(%(from)s, NULL, %(leaf)s) v"
    " JOIN {s}.message m ON m.tree = %(from)s AND m.pos BETWEEN v.first AND v.last"
)
_COPY_OVERLAYS = (
    "WITH copied AS (INSERT INTO {s}.overlay (tree, number, id, first, last, tokens,"
    " covered_tokens, created_by, created_at, metadata, summary, words)"
    " SELECT %(tree)s, nextval('{s}.overlay_number'), o.id, %(base)s | (o.first & 16777215),"
    " %(base)s | (o.last & 16777215), o.tokens, o.covered_tokens, o.created_by, o.created_at,"
    " o.metadata, o.summary, o.words FROM {s}.overlay o"
    " WHERE o.tree = %(from)s AND o.number = ANY (%(numbers)s::bigint[]) ORDER BY o.number"
    " RETURNING number, first, last)"
    " INSERT INTO {s}.in_force"
    " SELECT %(tree)s, %(session)s, last, -(first & 16777215), number FROM copied"
)
_CHANGE = (
    "INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)"
    " VALUES (%s, %s, %s, 1, %s, %s, %s)"
)


async def fork_session(tx: AsyncTx, fork: SessionRow, source: SessionRow, point: ForkPoint) -> None:
    """Make a new, empty session a fork of another one, whose tree is locked."""
    pos = source.tip if point.message is None else await get_pos(tx, source, point.message)
    await tx.run(_COPY_DOCUMENTS, (fork.tree, fork.number, source.tree, source.number))
    place = _copy_path if point.detach else _stand_on
    fork = await place(tx, fork, source, pos)
    context = await context_at(tx, fork, fork.tip)
    await tx.run(
        "UPDATE {s}.session SET tip = %s, fork = %s, context = %s, messages = %s, overlays = %s"
        " WHERE tree = %s AND number = %s",
        (fork.tip, fork.fork, context, fork.messages, fork.overlays, fork.tree, fork.number),
    )


async def _stand_on(tx: AsyncTx, fork: SessionRow, source: SessionRow, pos: int) -> SessionRow:
    overlays = await tx.value(_TAKE_OVER, (fork.number, source.tree, source.number, pos))
    if pos:
        await _inherit_homes(tx, fork, source, pos)
    return fork._replace(tip=pos, fork=pos, overlays=overlays)


async def _inherit_homes(tx: AsyncTx, fork: SessionRow, source: SessionRow, pos: int) -> None:
    """Note the homes on the path: that of the fork point, and those which its session inherited.

    Where that session is gone, the source's are taken: some of them may lie off the path.
    """
    home, number = await tx.row(
        "SELECT m.home, s.number FROM {s}.message m LEFT JOIN {s}.session s"
        " ON s.tree = m.tree AND s.home = m.home WHERE m.tree = %s AND m.pos = %s",
        (source.tree, pos),
    )
    await tx.run(
        "INSERT INTO {s}.inherited SELECT %(tree)s, %(fork)s, home FROM {s}.inherited"
        " WHERE tree = %(tree)s AND session = %(session)s"
        " UNION SELECT %(tree)s, %(fork)s, %(home)s",
        {
            "tree": source.tree,
            "fork": fork.number,
            "session": source.number if number is None else number,
            "home": home,
        },
    )


async def _copy_path(tx: AsyncTx, fork: SessionRow, source: SessionRow, pos: int) -> SessionRow:
    """Copy every position of a path into one segment, with its running sums made anew."""
    if not pos:
        return fork
    segment = await tx.value("SELECT {s}.new_segment(%s, %s, 0)", (fork.tree, fork.home))
    base = segment << DEPTH_BITS
    tip = base | (pos & MAX_DEPTH)
    numbers = [row[0] for row in await tx.rows(_ON_PATH, (source.tree, source.number, pos))]
    args = {
        "tree": fork.tree,
        "base": base,
        "home": fork.home,
        "session": fork.number,
        "from": source.tree,
        "leaf": pos,
        "numbers": numbers,
        "marks": [home_word(fork.home)],
    }
    await tx.run(_COPY_MESSAGES, args)
    await tx.run(_COPY_OVERLAYS, args)
    now = await tx.now()
    await tx.run(_CHANGE, (fork.owner, fork.number, fork.tree, base + 1, tip, now))
    live = await tx.value(
        "SELECT count(*) FROM {s}.message WHERE tree = %s AND body IS NOT NULL", (fork.tree,)
    )
    return fork._replace(tip=tip, messages=live, overlays=len(numbers))
