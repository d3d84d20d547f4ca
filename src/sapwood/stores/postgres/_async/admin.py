"""Work on the store as a whole: health, owners, and the search for damage."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import StoreCorruptError
from ....model import Health, Problem
from ....rules.codec import decode_body
from ...relational.rows import SessionRow
from ..rows import SESSION_COLUMNS
from ..words import body_words, home_word, owner_word
from .repair import BY_NUMBER, FORCE_FAULTS, MESSAGES, PAGE, SEGMENTS, WRONG_SUMS, lineage_above
from .sums import AsyncPostgresSumStatements
from .tx import AsyncTx

_LIVE = "SELECT count(*) FROM {s}.message WHERE tree = %s AND home = %s AND body IS NOT NULL"
_IN_FORCE = "SELECT count(*) FROM {s}.in_force WHERE tree = %s AND session = %s"


class AsyncPostgresAdmin:
    """Work on the store as a whole."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def health(self) -> Health:
        """Tell which store this is."""
        version, writable = await self._tx.row(
            "SELECT current_setting('server_version'), NOT pg_is_in_recovery()"
            " AND has_table_privilege('{s}.message', 'INSERT, UPDATE, DELETE')"
        )
        return Health(store="postgresql", version=version, writable=writable)

    async def schema_version(self) -> int:
        """Tell the schema's version."""
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
        problems = [*await self._messages(), *await self._segments(), *await self._sums()]
        if problems:
            # What follows adds up along segments that are known to be whole.
            return problems
        return await self._sessions()

    async def _messages(self) -> list[Problem]:
        problems: list[Problem] = []
        place = (0, 0)
        while rows := await self._tx.rows(f"{MESSAGES} {PAGE}", place):
            problems += [problem for row in rows for problem in _message_faults(*row[2:])]
            place = rows[-1][:2]
        return problems

    async def _segments(self) -> list[Problem]:
        faults: list[tuple[int, str]] = []
        rows = await self._tx.rows(f"{SEGMENTS} {BY_NUMBER}")
        for _, number, parent, lineage, above, found in rows:
            if parent and found is None:
                faults.append((number, "its parent is missing"))
            elif lineage != lineage_above(parent, above):
                faults.append((number, "its lineage is wrong"))
        return [Problem(kind="segment", where=str(number), what=what) for number, what in faults]

    async def _sums(self) -> list[Problem]:
        what = "its running sum of tokens is wrong"
        found = [
            Problem(kind="message", where=id, what=what)
            for (id,) in await self._tx.rows(WRONG_SUMS)
        ]
        what = "it is in force at a place that is not its own"
        return found + [
            Problem(kind="overlay", where=str(row[4]), what=what)
            for row in await self._tx.rows(FORCE_FAULTS)
        ]

    async def _sessions(self) -> list[Problem]:
        problems: list[Problem] = []
        rows = await self._tx.rows(
            f"SELECT {SESSION_COLUMNS}, s.active_s, s.tip = 0 OR EXISTS (SELECT 1"
            " FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip) FROM {s}.session s"
        )
        for *found, active_s, has_tip in rows:
            row = SessionRow._make(found)
            faults = ["its tip is missing"]
            if has_tip:
                faults = await self._session_faults(row, active_s)
            problems += [Problem(kind="session", where=row.id, what=what) for what in faults]
        return problems

    async def _session_faults(self, row: SessionRow, active_s: int) -> list[str]:
        faults = []
        if row.active_at // 1_000_000 != active_s:
            faults.append("it is listed at another second than that of its last activity")
        live = await self._tx.value(_LIVE, (row.tree, row.home))
        if live != row.messages:
            faults.append(f"it counts {row.messages} messages and has {live}")
        in_force = await self._tx.value(_IN_FORCE, (row.tree, row.number))
        if in_force != row.overlays:
            faults.append(f"it counts {row.overlays} overlays and has {in_force}")
        context = await AsyncPostgresSumStatements(self._tx).context_at(row, row.tip)
        if row.context not in (None, context):
            faults.append(f"it counts {row.context} tokens shown and shows {context}")
        return faults


def _message_faults(
    home: int, id: str, body: bytes, words: str | None, owner: int | None
) -> Iterator[Problem]:
    """Tell what is wrong with a message; one that nobody stands on is left to be swept."""
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
