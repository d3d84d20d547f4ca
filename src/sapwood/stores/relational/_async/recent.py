"""The ends of sessions' paths, all of them found by one statement."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import StoreCorruptError
from ....model import ROOT, Document, Message, Recent
from ....rules.tree import LINEAGE_CAP, Place
from ..position import MAX_DEPTH, pack_place, public, unpack_lineage
from ..rows import DOCUMENT_EXPIRES_AT, ID, Row, message_of
from ..statements import SubjectStatements, T

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class RecentPlace(NamedTuple):
    """One of the last places of a session's path, from the tip up; an empty path has one at 0.

    The lineage and the document come with the tip, `is_live` is None where a row is missing, and
    only messages that are shown have a body.
    """

    session: str
    step: int
    pos: int
    lineage: Any
    is_live: bool | None
    is_shown: bool
    home: str | None
    message: Row
    document: Row


class AsyncRecentStatements(SubjectStatements[T]):
    """Statements about the ends of paths."""

    message_columns = 8
    """How many columns of a row are its message's; the document's come last."""

    @abstractmethod
    async def rows(self, owner: str, sessions: Sequence[str], key: str | None) -> Sequence[Row]:
        """Return the rows of the last places, those of a session together and from its tip up.

        Each has what a `RecentPlace` has, the columns of a message's row and a document's spread.
        """

    def lineage_of(self, column: Any) -> list[Place]:
        """Return a segment's lineage."""
        return unpack_lineage(column)

    def message_of(self, row: Row, home: str | None) -> Message:
        """Return the message of a row."""
        return message_of(row, home)


async def find_recent(
    dialect: AsyncDialect, owner: str, sessions: Sequence[str], key: str | None
) -> list[Recent | None]:
    """Find the ends of the paths to sessions' tips, in the order asked."""
    statements = dialect.recent
    first_of_document = 7 + statements.message_columns
    rows = await statements.rows(owner, list(dict.fromkeys(sessions)), key) if sessions else []
    found: dict[str, Recent] = {}
    for session, some in groupby(rows, key=itemgetter(0)):
        places = [
            RecentPlace._make((*row[:7], row[7:first_of_document], row[first_of_document:]))
            for row in some
        ]
        found[session] = await _recent(dialect, places)
    return [found.get(it) for it in sessions]


async def _recent(dialect: AsyncDialect, places: Sequence[RecentPlace]) -> Recent:
    statements, tip = dialect.recent, places[0]
    document = await _document(dialect, tip.document)
    if not tip.pos:
        return Recent(tip=ROOT, document=document)
    for it in places:
        if it.is_live is None:
            at = public(it.pos)
            raise StoreCorruptError(
                f"the message at position {at.segment}.{at.depth} of session {it.session!r} is "
                "missing: it can only come back from a backup"
            )
    lineage = statements.lineage_of(tip.lineage)
    shown = [it for it in reversed(places) if it.is_shown]
    return Recent(
        tip=tip.message[ID],
        messages=[statements.message_of(it.message, it.home) for it in shown],
        empty=[it.pos & MAX_DEPTH for it in reversed(places) if not it.is_live],
        trail=[public(pos) for pos in (tip.pos, *map(pack_place, lineage))],
        is_whole=len(lineage) < LINEAGE_CAP,
        document=document,
    )


async def _document(dialect: AsyncDialect, row: Row) -> Document | None:
    """Return the document of a row; None where there is none, or it has expired."""
    if row[0] is None:
        return None
    expires_at = row[DOCUMENT_EXPIRES_AT]
    if expires_at is not None and expires_at <= await dialect.now():
        return None
    return dialect.documents.document_of(row)
