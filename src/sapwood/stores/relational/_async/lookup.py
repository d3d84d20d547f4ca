"""Which session is meant, and which messages it sees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....model import ROOT, Root
from ...base.refusals import no_message, no_session
from ..rows import SeenMessage, SessionRow, Touches
from ..statements import SubjectStatements, T

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncLookupStatements(SubjectStatements[T]):
    """Statements that every subject needs."""

    @abstractmethod
    async def find_owner(self, name: str) -> int | None:
        """Return an owner's number; None when there is no such owner."""

    @abstractmethod
    async def own_number(self, name: str) -> int:
        """Return an owner's number, a new one if there was none."""

    @abstractmethod
    async def find_session(self, owner: str, session: str) -> SessionRow | None:
        """Return a session's row, without a lock."""

    @abstractmethod
    async def lock_session(self, owner: str, session: str, touches: Touches) -> SessionRow | None:
        """Return a session's row; in a unit that writes, nobody else writes to its tree then."""

    @abstractmethod
    async def find_all_seen(
        self, session: SessionRow, ids: Sequence[str]
    ) -> dict[str, SeenMessage]:
        """Return those of the messages that a session sees: its own, or on the path to its fork."""

    @abstractmethod
    async def id_at(self, session: SessionRow, pos: int) -> str | Root:
        """Return the id of the message at a position; `ROOT` at 0."""


async def get_session(
    dialect: AsyncDialect, owner: str, session: str, touches: Touches = Touches.NOTHING
) -> SessionRow:
    """Return a session's row, locked where the unit writes, or raise."""
    found = await dialect.lookup.lock_session(owner, session, touches)
    if found is None:
        raise no_session(session)
    return found


async def find_seen(dialect: AsyncDialect, session: SessionRow, id: str) -> SeenMessage | None:
    """Return a message that a session sees; None when it sees none of this id."""
    return (await dialect.lookup.find_all_seen(session, [id])).get(id)


async def get_pos(dialect: AsyncDialect, session: SessionRow, message: str | Root) -> int:
    """Return the position of a message that a session sees, deleted or not, or raise."""
    if message is ROOT:
        return 0
    assert isinstance(message, str)
    seen = await find_seen(dialect, session, message)
    if seen is None:
        raise no_message(session.id, message)
    return seen.pos
