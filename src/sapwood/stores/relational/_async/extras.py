"""What a write depends on, and what else it writes: fences, versions, documents, a patch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....model import Fence, Root
from ...base.extras import Extras
from ...base.refusals import refuse_stale_session, session_closed
from ..rows import SessionRow, Touches
from .data import refuse_other_tip
from .documents import AsyncRelationalDocuments, refuse_lost
from .lookup import get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect


async def get_open_session(
    dialect: AsyncDialect,
    owner: str,
    session: str,
    fences: Sequence[Fence],
    touches: Touches = Touches.NOTHING,
) -> SessionRow:
    """Return a session's row, locked, or raise: also when a fence is lost, or it is closed."""
    row = await get_session(dialect, owner, session, touches)
    await refuse_lost(dialect, row, fences)
    refuse_closed(row)
    return row


def refuse_closed(row: SessionRow) -> None:
    """Refuse what a closed session does not take."""
    if row.closed:
        raise session_closed(row.id)


async def refuse_by_extras(
    dialect: AsyncDialect,
    row: SessionRow,
    expected_tip: str | Root | None,
    extras: Extras,
) -> None:
    """Refuse a write of a session that is locked when what it depends on does not hold."""
    await refuse_lost(dialect, row, extras.fences)
    refuse_stale_session(row.id, row.version, extras.expected_version)
    await refuse_other_tip(dialect, row, expected_tip)


async def write_extras_after(
    dialect: AsyncDialect, owner: str, session: str, extras: Extras
) -> dict[str, int]:
    """Write what comes along, after a write by which the session's row became another."""
    if not extras.documents and extras.patch is None:
        return {}
    return await write_extras(dialect, await get_session(dialect, owner, session), extras)


async def write_extras(dialect: AsyncDialect, row: SessionRow, extras: Extras) -> dict[str, int]:
    """Write what comes along with a write to a session; return the documents' versions."""
    versions = await AsyncRelationalDocuments(dialect).write_all(row, extras.documents)
    if extras.patch is not None:
        await dialect.sessions.patch(row, extras.patch)
    return versions
