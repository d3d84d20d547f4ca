"""Sessions of all owners, for stores that go from owner to owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from ...calls import AsyncAnswer
from ...errors import UsageError
from ...model import OwnedSession, OwnedSessionPage, SessionPage, SessionQuery

OWNERS_AT_ONCE = 100
"""How many owners one page looks at."""


async def sessions_of_owners(
    owners: Iterable[str],
    query: SessionQuery,
    list_page: Callable[[str, SessionQuery], AsyncAnswer[SessionPage]],
) -> OwnedSessionPage:
    """Return a page of owners' sessions, owner by owner, by the cursors of their own listings."""
    start, within = _read_cursor(query.cursor)
    names = sorted(owners, reverse=query.reverse)
    if start is not None:
        names = [it for it in names if (it <= start if query.reverse else it >= start)]
    found: list[OwnedSession] = []
    for name in names[:OWNERS_AT_ONCE]:
        if len(found) == query.limit:
            return OwnedSessionPage(sessions=found, cursor=_cursor(name, None))
        cursor = within if name == start else None
        asked = replace(query, limit=query.limit - len(found), cursor=cursor)
        page = await list_page(name, asked)
        found += [OwnedSession(owner=name, session=it) for it in page.sessions]
        if page.cursor is not None:
            return OwnedSessionPage(sessions=found, cursor=_cursor(name, page.cursor))
    left = names[OWNERS_AT_ONCE:]
    return OwnedSessionPage(sessions=found, cursor=_cursor(left[0], None) if left else None)


def _cursor(owner: str, within: str | None) -> str:
    return msgspec.json.encode((owner, within)).decode()


def _read_cursor(cursor: str | None) -> tuple[str | None, str | None]:
    if cursor is None:
        return None, None
    try:
        return msgspec.json.decode(cursor, type=tuple[str, str | None])
    except msgspec.MsgspecError as error:
        raise UsageError(f"not a cursor of sessions: {cursor!r}", path="cursor") from error
