"""Work on the store as a whole: health, owners, and the search for damage."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import StoreCorruptError
from ....model import Health, Problem
from ....rules.codec import decode_body
from ...relational.problems import (
    misplaced_overlay,
    segment_problem,
    session_problem,
    wrong_figures,
    wrong_sum,
)
from ...relational.rows import SessionRow
from ..rows import SESSION_COLUMNS
from ..words import body_words, home_word, owner_word
from .repair import BY_NUMBER, FORCE_FAULTS, MESSAGES, PAGE, SEGMENTS, WRONG_SUMS, lineage_above
from .sums import AsyncPostgresSumStatements
from .tx import AsyncTx

_LIVE = "SELECT count(*) FROM {s}.message WHERE tree = %s AND home = %s AND body IS NOT NULL"
_IN_FORCE = "SELECT count(*) FROM {s}.in_force WHERE tree = %s AND session = %s"
_SESSIONS = (
    f"SELECT {SESSION_COLUMNS}, s.tip = 0 OR EXISTS (SELECT 1"
    " FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip) FROM {s}.session s"
)


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

    async def check(self) -> list[Problem]:
        """Look for damage, and for figures that do not add up."""
        problems = [*await self._messages(), *await self._segments()]
        problems += [wrong_sum(id) for (id,) in await self._tx.rows(WRONG_SUMS)]
        problems += [misplaced_overlay(row[4]) for row in await self._tx.rows(FORCE_FAULTS)]
        # The figures of sessions add up along segments that are known to be whole.
        return problems or await self._sessions()

    async def _messages(self) -> list[Problem]:
        problems: list[Problem] = []
        place = (0, 0)
        while rows := await self._tx.rows(f"{MESSAGES} {PAGE}", place):
            problems += [problem for row in rows for problem in _message_faults(*row[2:])]
            place = rows[-1][:2]
        return problems

    async def _segments(self) -> list[Problem]:
        problems: list[Problem] = []
        rows = await self._tx.rows(f"{SEGMENTS} {BY_NUMBER}")
        for _, number, parent, lineage, above, found in rows:
            if parent and found is None:
                problems.append(segment_problem(number, "its parent is missing"))
            elif lineage != lineage_above(parent, above):
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
