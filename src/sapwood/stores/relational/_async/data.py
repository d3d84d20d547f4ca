"""Work on data at positions.

A version is a row of its own, keyed by its position. The one that holds at a position is the newest
in its segment at or above it; else the one that held where the segment grew out, which the segment
says. A mark is a message's row without a body, with a role of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ....model import ROOT, DataVersion, Entry, Message, Position, Root, Summary
from ....rules.append_plan import refuse_stale_tip
from ....rules.codec import decode_json
from ....rules.data import without_field
from ....rules.tree import Span
from ...base.refusals import no_position
from ..position import DEPTH_BITS, MAX_DEPTH, public
from ..rows import Row, SessionRow, Touches
from ..statements import SubjectStatements, T
from .lookup import get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect

MOST_SEGMENTS = 2**38
"""More than any store numbers: a position of such a one is nobody's."""


class AsyncDataStatements(SubjectStatements[T]):
    """Statements about data. Positions are packed, and 0 stands for no data."""

    @abstractmethod
    async def is_seen(self, session: SessionRow, pos: int) -> bool:
        """Whether there is such a position, and the session sees it."""

    @abstractmethod
    async def at(self, session: SessionRow, positions: Collection[int]) -> dict[int, int]:
        """Return where the data stands that holds at positions."""

    @abstractmethod
    async def marks(self, session: SessionRow, positions: Collection[int]) -> Collection[int]:
        """Return those of the positions that are marks."""

    @abstractmethod
    async def parent(self, session: SessionRow, pos: int) -> int:
        """Return the position that a position follows; 0 for the root."""

    @abstractmethod
    async def chain(self, session: SessionRow, pos: int, most: int) -> list[Row]:
        """Return a version and those before it: pos, previous, value, the row's id, created_at."""

    @abstractmethod
    async def in_span(self, session: SessionRow, span: Span, most: int) -> list[Row]:
        """Return so many versions of a span, by position, as `chain` does."""

    @abstractmethod
    async def values(self, session: SessionRow, positions: Collection[int]) -> dict[int, bytes]:
        """Return the versions that stand at positions themselves."""

    @abstractmethod
    async def put(self, session: SessionRow, pos: int, previous: int, value: bytes) -> None:
        """Write a version, and note that the session's tree has data."""

    @abstractmethod
    async def all_seen(self, session: SessionRow) -> list[tuple[int, bytes]]:
        """Return the positions and values of all versions that a session sees."""

    @abstractmethod
    async def rewrite(self, session: SessionRow, values: Sequence[tuple[int, bytes]]) -> None:
        """Write versions anew, by their positions; what they were is erased."""


class AsyncRelationalData:
    """Work on data at positions."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect

    async def versions(
        self, owner: str, session: str, position: Position, most: int
    ) -> list[DataVersion]:
        """Return the versions at and above a position, the newest first."""
        row = await get_session(self._dialect, owner, session)
        pos = packed_position(position)
        if pos is None or not await self._dialect.data.is_seen(row, pos):
            raise no_position(session, position)
        at = await data_at(self._dialect, row, pos)
        rows = await self._dialect.data.chain(row, at, most) if at else []
        return [version_of(it) for it in rows]

    async def erase(self, owner: str, session: str, field: str) -> int:
        """Take a field out of all versions that the session sees."""
        row = await get_session(self._dialect, owner, session, Touches.CHANGES)
        if not row.has_data:
            return 0
        held = await self._dialect.data.all_seen(row)
        left = [(pos, value, without_field(value, field)) for pos, value in held]
        changed = [(pos, new) for pos, value, new in left if new is not value]
        if changed:
            await self._dialect.data.rewrite(row, changed)
        return len(changed)


def packed_position(position: Position) -> int | None:
    """Return a position packed; None for one that no store gave."""
    segment, depth = position.segment, position.depth
    if not (segment.isascii() and segment.isdigit() and len(segment) <= 12):
        return None
    number = int(segment)
    if str(number) != segment or number > MOST_SEGMENTS or depth > MAX_DEPTH:
        return None
    return number << DEPTH_BITS | depth


def version_of(row: Row) -> DataVersion:
    """Return the version of a row, as `chain` gives it."""
    pos, previous, value, id, created_at = row
    return DataVersion(
        position=public(pos),
        value=decode_json(value, f"the data at {id!r}"),
        previous=public(previous) if previous else None,
        id=id,
        created_us=created_at,
    )


async def data_at(dialect: AsyncDialect, row: SessionRow, pos: int) -> int:
    """Return where the data stands that holds at a position; 0 for none."""
    if not pos or not row.has_data:
        return 0
    return (await dialect.data.at(row, [pos]))[pos]


async def own_data(
    dialect: AsyncDialect, row: SessionRow, positions: Collection[int]
) -> dict[int, bytes]:
    """Return the versions that stand at positions themselves."""
    return await dialect.data.values(row, positions) if row.has_data and positions else {}


async def marks_among(
    dialect: AsyncDialect, row: SessionRow, positions: Collection[int]
) -> Collection[int]:
    """Return those of the positions that are marks."""
    return await dialect.data.marks(row, positions) if row.has_data and positions else ()


async def with_data_at(
    dialect: AsyncDialect, row: SessionRow, messages: Sequence[Message]
) -> list[Message]:
    """Return messages that say where their data stands."""
    if not row.has_data or not messages:
        return [*messages]
    places = [int(it.segment) << DEPTH_BITS | it.depth for it in messages]
    found = await dialect.data.at(row, places)
    return [
        replace(it, data_at=public(found[pos])) if found[pos] else it
        for it, pos in zip(messages, places, strict=True)
    ]


async def entries_with_data_at(
    dialect: AsyncDialect, row: SessionRow, entries: list[Entry]
) -> list[Entry]:
    """Return the entries of a history with messages that say where their data stands."""
    if not row.has_data:
        return entries
    messages = [
        it for entry in entries for it in (entry.pinned if isinstance(entry, Summary) else [entry])
    ]
    told = iter(await with_data_at(dialect, row, messages))
    return [
        replace(entry, pinned=[next(told) for _ in entry.pinned])
        if isinstance(entry, Summary)
        else next(told)
        for entry in entries
    ]


async def look_through(
    dialect: AsyncDialect, row: SessionRow, found: Collection[int]
) -> Collection[int]:
    """Return positions without the marks among them, and with what follows those."""
    kept, left = set(found), set(found)
    while left:
        marks = set(await marks_among(dialect, row, left))
        left = {it for pos in marks for it in await dialect.messages.followers(row, pos)}
        kept = (kept - marks) | left
    return kept


async def refuse_other_tip(
    dialect: AsyncDialect, row: SessionRow, expected: str | Root | None
) -> None:
    """Refuse a write that was decided on another tip; only marks may follow it."""
    if expected is not None:
        tip = await dialect.lookup.id_at(row, row.tip)
        refuse_stale_tip(tip, expected, await marked(dialect, row, tip, [expected]))


async def marked(
    dialect: AsyncDialect, row: SessionRow, tip: str | Root, expected: Collection[str | Root]
) -> list[str | Root]:
    """Return the places that only marks follow, up to the tip, where none expected is the tip."""
    found: list[str | Root] = []
    pos = row.tip
    if tip in expected:
        return found
    while pos and await marks_among(dialect, row, [pos]):
        pos = await dialect.data.parent(row, pos)
        found.append(await dialect.lookup.id_at(row, pos) if pos else ROOT)
    return found
