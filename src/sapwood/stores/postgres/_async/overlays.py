"""Statements about overlays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....rules.tree import Place
from ...relational._async.overlays import AsyncOverlayStatements
from ...relational.position import MAX_DEPTH, pack_place
from ...relational.rows import (
    OVERLAY_LAST,
    OVERLAY_NUMBER,
    NewOverlayRow,
    Row,
    SessionRow,
)
from ..rows import OVERLAY_COLUMNS
from ..words import owner_word, text_words
from .tx import AsyncTx

_INSERT = (
    "INSERT INTO {s}.overlay AS o (tree, number, id, first, last, tokens, covered_tokens,"
    " created_by, created_at, metadata, summary, words)"
    " VALUES (%s, nextval('{s}.overlay_number'), %s, %s, %s, %s, %s, %s, %s, %s, %s,"
    f" %s::tsvector || array_to_tsvector(%s::text[])) RETURNING {OVERLAY_COLUMNS}"
)
_INSERT_ALL = (
    "WITH made AS (INSERT INTO {s}.overlay AS o (tree, number, id, first, last, tokens,"
    " covered_tokens, created_by, created_at, metadata, summary, words)"
    " SELECT %(tree)s, nextval('{s}.overlay_number'), u.id, u.first, u.last, u.tokens,"
    " u.covered_tokens, u.created_by, u.created_at, u.metadata, u.summary,"
    " u.words::tsvector || array_to_tsvector(%(marks)s::text[])"
    " FROM unnest(%(id)s::text[], %(first)s::bigint[], %(last)s::bigint[], %(tokens)s::bigint[],"
    " %(covered_tokens)s::bigint[], %(created_by)s::text[], %(created_at)s::bigint[],"
    " %(metadata)s::bytea[], %(summary)s::bytea[], %(words)s::text[]) WITH ORDINALITY"
    " u(id, first, last, tokens, covered_tokens, created_by, created_at, metadata, summary, words,"
    " nth) ORDER BY u.nth RETURNING o.number, o.first, o.last)"
    " INSERT INTO {s}.in_force (tree, session, last, width, overlay)"
    " SELECT %(tree)s, %(session)s, made.last, -(made.first & 16777215), made.number FROM made"
)
_REWRITE = (
    "UPDATE {s}.overlay SET metadata = %s, summary = %s,"
    " words = %s::tsvector || array_to_tsvector(%s::text[]) WHERE tree = %s AND number = %s"
)
_FIND = (
    f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.overlay o JOIN {{s}}.in_force f ON f.tree = o.tree"
    " AND f.overlay = o.number AND f.session = %s WHERE o.tree = %s AND o.id = %s"
)
_TOKENS_BETWEEN = (
    "SELECT {s}.deltas_between(m.tree, m.pos, %(last)s) + {s}.path_tokens_at(m.tree, %(last)s)"
    " - m.path_tokens + m.tokens - coalesce((SELECT e.delta FROM {s}.edit e"
    " WHERE e.tree = m.tree AND e.pos = m.pos), 0)"
    " FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos = %(first)s"
)
_IN_FORCE = (
    f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.in_force f JOIN {{s}}.overlay o"
    " ON o.tree = f.tree AND o.number = f.overlay"
    " WHERE f.tree = %s AND f.session = %s ORDER BY o.number"
)
_CHANGED = (
    "SELECT EXISTS (SELECT 1 FROM {s}.visible(%(tree)s, NULL, %(last)s) v JOIN {s}.edit e"
    " ON e.tree = %(tree)s AND e.pos BETWEEN v.first AND v.last"
    " WHERE (e.pos & 16777215) >= %(depth)s AND e.seq > %(snapshot)s)"
)


class AsyncPostgresOverlayStatements(AsyncOverlayStatements[AsyncTx]):
    """Statements about overlays."""

    async def find(self, session: SessionRow, id: str) -> Row | None:
        found: Row | None = await self._tx.row(_FIND, (session.number, session.tree, id))
        return found

    async def in_force(self, session: SessionRow) -> list[Row]:
        return await self._tx.rows(_IN_FORCE, (session.tree, session.number))

    async def is_taken(self, session: SessionRow, id: str) -> bool:
        sql = "SELECT 1 FROM {s}.overlay WHERE tree = %s AND id = %s"
        return await self._tx.value(sql, (session.tree, id)) is not None

    async def add(self, session: SessionRow, new: NewOverlayRow) -> Row:
        said = (new.summary.encode(), text_words(new.summary), [owner_word(session.owner)])
        made: Row = await self._tx.row(_INSERT, (session.tree, *new[:-1], *said))
        width = -(new.first & MAX_DEPTH)
        await self._tx.run(
            "INSERT INTO {s}.in_force VALUES (%s, %s, %s, %s, %s)",
            (session.tree, session.number, new.last, width, made[OVERLAY_NUMBER]),
        )
        return made

    async def add_all(self, session: SessionRow, overlays: Iterable[NewOverlayRow]) -> None:
        columns = map(list, zip(*overlays, strict=True))
        args: dict[str, Any] = dict(zip(NewOverlayRow._fields, columns, strict=True))
        args |= {
            "tree": session.tree,
            "session": session.number,
            "marks": [owner_word(session.owner)],
            "words": [text_words(text) for text in args["summary"]],
            "summary": [text.encode() for text in args["summary"]],
        }
        await self._tx.run(_INSERT_ALL, args)

    async def rewrite(self, session: SessionRow, found: Row, summary: str, metadata: bytes) -> None:
        said = (metadata, summary.encode(), text_words(summary), [owner_word(session.owner)])
        await self._tx.run(_REWRITE, (*said, session.tree, found[OVERLAY_NUMBER]))

    async def remove(self, session: SessionRow, found: Row) -> None:
        number = found[OVERLAY_NUMBER]
        await self._tx.run(
            "DELETE FROM {s}.in_force WHERE tree = %s AND session = %s AND last = %s"
            " AND overlay = %s",
            (session.tree, session.number, found[OVERLAY_LAST], number),
        )
        await self._tx.run("SELECT {s}.drop_unused(%s, %s::bigint[])", (session.tree, [number]))

    async def tokens_between(self, session: SessionRow, first: int, last: int) -> int:
        args = {"tree": session.tree, "first": first, "last": last}
        return int(await self._tx.value(_TOKENS_BETWEEN, args))

    async def is_changed(
        self, session: SessionRow, first: Place, last: Place, snapshot: int
    ) -> bool:
        place = {"tree": session.tree, "last": pack_place(last), "depth": first.depth}
        return bool(await self._tx.value(_CHANGED, {**place, "snapshot": snapshot}))
