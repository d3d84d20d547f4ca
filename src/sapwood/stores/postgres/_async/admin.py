"""Work on the store as a whole: health, owners, the search for damage, and its repair."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import StoreCorruptError
from ....model import ChangedOwners, Health, Problem
from ....rules.codec import decode_body
from ....rules.tree import extend_lineage
from ...relational.position import DEPTH_BITS, MAX_DEPTH, pack_place, place_of
from ...relational.problems import (
    misplaced_overlay,
    segment_problem,
    session_problem,
    wrong_figures,
    wrong_sum,
)
from ...relational.rows import SessionRow, summary_text
from ..rows import SESSION_COLUMNS
from ..words import body_words, home_word, owner_word, text_words
from .data_check import data_problems, rebuild_data
from .feed import changed_owners
from .listing_check import listing_problems, rebuild_listing
from .sums import AsyncPostgresSumStatements
from .tx import AsyncTx

Trees = list[int]
"""Those that are locked: what stands in others may change meanwhile, and is left alone."""

TREES_AT_ONCE = 100
"""How many trees one transaction repairs: a server has room for so many locks only."""

_LIVE = "SELECT count(*) FROM {s}.message WHERE tree = %s AND home = %s AND body IS NOT NULL"
_IN_FORCE = "SELECT count(*) FROM {s}.in_force WHERE tree = %s AND session = %s"
_SESSIONS = (
    f"SELECT {SESSION_COLUMNS}, s.tip = 0 OR EXISTS (SELECT 1"
    " FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip) FROM {s}.session s"
)
_SEGMENTS = """
SELECT g.tree, g.number, g.parent, g.lineage, a.lineage, p.pos
FROM {s}.segment g
LEFT JOIN {s}.segment a ON a.tree = g.tree AND a.number = g.parent >> 24
LEFT JOIN {s}.message p ON p.tree = g.tree AND p.pos = g.parent
"""
_SEGMENTS_BY_NUMBER = "ORDER BY g.tree, g.number"
# The owner of what a gone session wrote is that of whoever is in its tree.
_MESSAGES = """
SELECT m.tree, m.pos, m.home, m.id, m.body, m.words::text,
    (SELECT s.owner FROM {s}.session s WHERE s.tree = m.tree LIMIT 1)
FROM {s}.message m WHERE m.body IS NOT NULL AND (m.tree, m.pos) > (%s, %s)
"""
_PAGE_OF_MESSAGES = "ORDER BY m.tree, m.pos LIMIT 500"
_WRONG_SUMS = """
SELECT m.id FROM {s}.message m
JOIN {s}.segment g ON g.tree = m.tree AND g.number = m.pos >> 24
LEFT JOIN {s}.edit e ON e.tree = m.tree AND e.pos = m.pos
LEFT JOIN {s}.message b ON b.tree = m.tree AND b.pos = {s}.parent_of(m.tree, m.pos)
WHERE m.path_tokens - coalesce(b.path_tokens, 0) <> m.tokens - coalesce(e.delta, 0)
"""
_FORCE_FAULTS = """
SELECT f.tree, f.session, f.last, f.width, f.overlay, o.number IS NULL
FROM {s}.in_force f LEFT JOIN {s}.overlay o ON o.tree = f.tree AND o.number = f.overlay
WHERE (o.number IS NULL OR f.last <> o.last OR f.width <> -(o.first & 16777215))
"""
_TREES = """
(SELECT DISTINCT tree FROM {s}.session WHERE tree > %(after)s ORDER BY tree LIMIT %(most)s)
UNION
(SELECT DISTINCT tree FROM {s}.segment WHERE tree > %(after)s ORDER BY tree LIMIT %(most)s)
ORDER BY tree LIMIT %(most)s
"""


class AsyncPostgresAdmin:
    """Work on the store as a whole."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def health(self) -> Health:
        """Return which store this is."""
        version, writable = await self._tx.row(
            "SELECT current_setting('server_version'), NOT pg_is_in_recovery()"
            " AND has_table_privilege('{s}.message', 'INSERT, UPDATE, DELETE')"
        )
        return Health(store="postgresql", version=version, writable=writable)

    async def schema_version(self) -> int:
        """Return the schema's version."""
        return await self._tx.value("SELECT max(version) FROM {s}.migration") or 0

    async def owners(self) -> list[str]:
        """List the owners."""
        rows = await self._tx.rows(
            "SELECT name FROM {s}.owner o"
            " WHERE EXISTS (SELECT 1 FROM {s}.session WHERE owner = o.number)"
            " OR EXISTS (SELECT 1 FROM {s}.document WHERE tree = -o.number) ORDER BY name"
        )
        return [name for (name,) in rows]

    async def changed_owners(self, after: str, limit: int) -> ChangedOwners:
        """List the owners that changed after a cursor."""
        return await changed_owners(self._tx, after, limit)

    async def check(self) -> list[Problem]:
        """Look for damage, and for figures that do not add up."""
        problems = [*await self._messages(), *await self._segments()]
        problems += await data_problems(self._tx)
        problems += [wrong_sum(id) for (id,) in await self._tx.rows(_WRONG_SUMS)]
        problems += [misplaced_overlay(row[4]) for row in await self._tx.rows(_FORCE_FAULTS)]
        # The figures of sessions add up along segments that are known to be whole.
        problems = problems or await self._sessions()
        return problems + await listing_problems(self._tx)

    async def _messages(self) -> list[Problem]:
        problems: list[Problem] = []
        place = (0, 0)
        while rows := await self._tx.rows(f"{_MESSAGES} {_PAGE_OF_MESSAGES}", place):
            problems += [problem for row in rows for problem in _message_faults(*row[2:])]
            place = rows[-1][:2]
        return problems

    async def _segments(self) -> list[Problem]:
        problems: list[Problem] = []
        rows = await self._tx.rows(f"{_SEGMENTS} {_SEGMENTS_BY_NUMBER}")
        for _, number, parent, lineage, above, found in rows:
            if parent and found is None:
                problems.append(segment_problem(number, "its parent is missing"))
            elif lineage != _lineage_above(parent, above):
                problems.append(segment_problem(number, "its lineage is wrong"))
        return problems

    async def _sessions(self) -> list[Problem]:
        problems: list[Problem] = []
        sums = AsyncPostgresSumStatements(self._tx)
        for *found, has_tip in await self._tx.rows(_SESSIONS):
            row = SessionRow._make(found)
            if not has_tip:
                problems.append(session_problem(row, "its tip is missing"))
                continue
            live = await self._tx.value(_LIVE, (row.tree, row.home))
            in_force = await self._tx.value(_IN_FORCE, (row.tree, row.number))
            context = await sums.context_at(row, row.tip)
            problems += wrong_figures(row, live, in_force, context)
        return problems


def _message_faults(
    home: int, id: str, body: bytes, words: str | None, owner: int | None
) -> Iterator[Problem]:
    """Return what is wrong with a message; one that nobody stands on is left to be swept."""
    try:
        decode_body(body, id)
    except StoreCorruptError as error:
        yield Problem(kind="message", where=id, what=str(error))
        return
    if owner is None:
        return
    marks = {f"'{owner_word(owner)}'", f"'{home_word(home)}'"}
    wanted = marks.union(body_words(body, id).split(" ")) - {""}
    if words is None or set(words.split(" ")) != wanted:
        yield Problem(kind="index", where=id, what="it cannot be found by its words")


def _lineage_above(parent: int, above: list[int] | None) -> list[int]:
    """Return the lineage of a segment that follows a position, by the lineage of that one's."""
    places = [place_of(pos) for pos in above or []]
    return [pack_place(it) for it in extend_lineage(place_of(parent) if parent else None, places)]


async def repair_some(tx: AsyncTx, *, after: int) -> Trees:
    """Rebuild all of the next trees, in the order in which one rests on the other; return them."""
    found = await tx.rows(_TREES, {"after": after, "most": TREES_AT_ONCE})
    trees = [tree for (tree,) in found]
    for tree in trees:
        await tx.run("SELECT {s}.lock_tree(%s)", (tree,))
    await _rebuild_lineages(tx, trees)
    await rebuild_data(tx, trees)
    await _rebuild_sums(tx, trees)
    await _rebuild_force(tx, trees)
    await _rebuild_sessions(tx, trees)
    await _rebuild_words(tx, trees)
    await rebuild_listing(tx, trees)
    return trees


async def _rebuild_lineages(tx: AsyncTx, trees: Trees) -> None:
    # A segment follows one that was there before it, so that its number is lower.
    made: dict[tuple[int, int], list[int]] = {}
    segments = await tx.rows(f"{_SEGMENTS} WHERE g.tree = ANY (%s) {_SEGMENTS_BY_NUMBER}", (trees,))
    for tree, number, parent, lineage, above, _ in segments:
        if parent and above is None:
            continue
        right = _lineage_above(parent, made.get((tree, parent >> DEPTH_BITS), above))
        made[tree, number] = right
        if right != lineage:
            await tx.run(
                "UPDATE {s}.segment SET lineage = %s::bigint[] WHERE tree = %s AND number = %s",
                (right, tree, number),
            )


async def _rebuild_sums(tx: AsyncTx, trees: Trees) -> None:
    await tx.run(
        "DELETE FROM {s}.edit e WHERE e.tree = ANY (%s) AND NOT EXISTS"
        " (SELECT 1 FROM {s}.message m WHERE m.tree = e.tree AND m.pos = e.pos)",
        (trees,),
    )
    if not await tx.rows(f"{_WRONG_SUMS} AND m.tree = ANY (%s) LIMIT 1", (trees,)):
        return
    for tree, number, parent in await tx.rows(
        "SELECT tree, number, parent FROM {s}.segment WHERE tree = ANY (%s) ORDER BY tree, number",
        (trees,),
    ):
        first = number << DEPTH_BITS
        await tx.run(
            "UPDATE {s}.message m SET path_tokens = r.running FROM (SELECT x.pos,"
            " coalesce((SELECT b.path_tokens FROM {s}.message b WHERE b.tree = %(tree)s"
            " AND b.pos = %(parent)s), 0)"
            " + sum(x.tokens - coalesce(e.delta, 0)) OVER (ORDER BY x.pos) AS running"
            " FROM {s}.message x LEFT JOIN {s}.edit e ON e.tree = x.tree AND e.pos = x.pos"
            " WHERE x.tree = %(tree)s AND x.pos BETWEEN %(first)s AND %(last)s) r"
            " WHERE m.tree = %(tree)s AND m.pos = r.pos AND m.path_tokens <> r.running",
            {"tree": tree, "parent": parent, "first": first, "last": first | MAX_DEPTH},
        )


async def _rebuild_force(tx: AsyncTx, trees: Trees) -> None:
    faults = await tx.rows(f"{_FORCE_FAULTS} AND f.tree = ANY (%s)", (trees,))
    for tree, session, last, width, overlay, is_gone in faults:
        await tx.run(
            "DELETE FROM {s}.in_force WHERE tree = %s AND session = %s AND last = %s"
            " AND width = %s AND overlay = %s",
            (tree, session, last, width, overlay),
        )
        if not is_gone:
            await tx.run(
                "INSERT INTO {s}.in_force SELECT tree, %s, last, -(first & 16777215), number"
                " FROM {s}.overlay WHERE tree = %s AND number = %s ON CONFLICT DO NOTHING",
                (session, tree, overlay),
            )


async def _rebuild_sessions(tx: AsyncTx, trees: Trees) -> None:
    await tx.run(
        "UPDATE {s}.session s SET active_s = s.active_at / 1000000,"
        " overlays = (SELECT count(*) FROM {s}.in_force f WHERE f.tree = s.tree"
        " AND f.session = s.number),"
        " messages = (SELECT count(*) FROM {s}.message m WHERE m.tree = s.tree"
        " AND m.home = s.home AND m.body IS NOT NULL) WHERE s.tree = ANY (%s)",
        (trees,),
    )
    for found in await tx.rows(
        f"SELECT {SESSION_COLUMNS} FROM {{s}}.session s WHERE s.tree = ANY (%s) AND (s.tip = 0"
        " OR EXISTS (SELECT 1 FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip))",
        (trees,),
    ):
        await AsyncPostgresSumStatements(tx).renew_context(SessionRow._make(found))


async def _rebuild_words(tx: AsyncTx, trees: Trees) -> None:
    place = (0, 0)
    while rows := await tx.rows(
        f"{_MESSAGES} AND m.tree = ANY (%s) {_PAGE_OF_MESSAGES}", (*place, trees)
    ):
        for tree, pos, home, id, body, _, owner in rows:
            if owner is not None:
                await tx.run(
                    "UPDATE {s}.message SET words = %s::tsvector || array_to_tsvector(%s::text[])"
                    " WHERE tree = %s AND pos = %s",
                    (body_words(body, id), [owner_word(owner), home_word(home)], tree, pos),
                )
        place = rows[-1][:2]
    for tree, number, id, summary, owner in await tx.rows(
        "SELECT o.tree, o.number, o.id, o.summary,"
        " (SELECT s.owner FROM {s}.session s WHERE s.tree = o.tree LIMIT 1) FROM {s}.overlay o"
        " WHERE o.tree = ANY (%s)",
        (trees,),
    ):
        if owner is not None:
            words = text_words(summary_text(summary, id))
            await tx.run(
                "UPDATE {s}.overlay SET words = %s::tsvector || array_to_tsvector(%s::text[])"
                " WHERE tree = %s AND number = %s",
                (words, [owner_word(owner)], tree, number),
            )
