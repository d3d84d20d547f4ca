"""Statements about forks."""

from __future__ import annotations

from ....model import ForkPoint, NewSession, SessionRecord
from ...relational._async.fork import AsyncForkStatements, CopiedPath
from ...relational.position import DEPTH_BITS, MAX_DEPTH
from ...relational.rows import Row, SessionRow
from ..rows import OVERLAY_COLUMNS
from ..words import home_word
from .fast_fork import fork_at_once
from .tx import AsyncTx

_IN_FORCE = " WHERE f.tree = %s AND f.session = %s AND {s}.is_on_path(f.tree, f.last, %s)"
_OVERLAYS = (
    f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.in_force f JOIN {{s}}.overlay o"
    f" ON o.tree = f.tree AND o.number = f.overlay{_IN_FORCE} ORDER BY o.number"
)
_TAKE_OVER = (
    "WITH taken AS (INSERT INTO {s}.in_force SELECT f.tree, %s, f.last, f.width, f.overlay"
    f" FROM {{s}}.in_force f{_IN_FORCE} RETURNING 1) SELECT count(*) FROM taken"
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
_CHANGE = (
    "INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)"
    " VALUES (%s, %s, %s, 1, %s, %s, %s)"
)
_LIVE = "SELECT count(*) FROM {s}.message WHERE tree = %s AND body IS NOT NULL"


class AsyncPostgresForkStatements(AsyncForkStatements):
    """Statements about forks."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def fork_at_once(
        self, owner: str, new: NewSession, point: ForkPoint
    ) -> SessionRecord | None:
        return await fork_at_once(self._tx, owner, new, point)

    async def copy_documents(self, fork: SessionRow, source: SessionRow) -> None:
        args = (fork.tree, fork.number, source.tree, source.number)
        await self._tx.run(_COPY_DOCUMENTS, args)

    async def stand_on(self, fork: SessionRow, source: SessionRow, pos: int) -> int:
        if not pos:
            return 0
        await _inherit_homes(self._tx, fork, source, pos)
        if not source.overlays:
            return 0
        args = (fork.number, source.tree, source.number, pos)
        taken: int = await self._tx.value(_TAKE_OVER, args)
        return taken

    async def copy_path(self, fork: SessionRow, source: SessionRow, pos: int) -> CopiedPath:
        text = "SELECT {s}.new_segment(%s, %s, 0)"
        base = await self._tx.value(text, (fork.tree, fork.home)) << DEPTH_BITS
        args = {
            "tree": fork.tree,
            "base": base,
            "home": fork.home,
            "from": source.tree,
            "leaf": pos,
            "marks": [home_word(fork.home)],
        }
        await self._tx.run(_COPY_MESSAGES, args)
        place = (fork.owner, fork.number, fork.tree, base + 1, base | (pos & MAX_DEPTH))
        await self._tx.run(_CHANGE, (*place, await self._tx.now()))
        return CopiedPath(base, await self._tx.value(_LIVE, (fork.tree,)))

    async def overlays_on(self, source: SessionRow, pos: int) -> list[Row]:
        return await self._tx.rows(_OVERLAYS, (source.tree, source.number, pos))


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
