"""A block by which a model searches earlier conversations."""

from __future__ import annotations

from typing import Literal, get_args

from ...errors import UsageError
from ...model import Search
from ...rules.ids import check_name
from ...store._async.contract import AsyncStore
from ..listings import show_hits

HistoryScope = Literal["others", "all", "session"]

MOST_FOUND = 10
# The session that asks often has most of what is found about its own subject.
LOOKED_AT = 200

TEXTS: dict[HistoryScope, str] = {
    "others": "Earlier conversations with this user can be searched.",
    "all": "All conversations with this user can be searched, this one included.",
    "session": "All that was said in this conversation can be searched.",
}


class AsyncSearchableHistory:
    """The owner's other sessions, all of them, or what one session sees.

    Its text does not depend on how many there are, so that the prompt stays as it is.
    """

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        session: str | None = None,
        *,
        within: HistoryScope = "others",
    ) -> None:
        check_name(owner, "owner")
        if within not in get_args(HistoryScope):
            raise UsageError(
                f"within must be 'others', 'all' or 'session', not {within!r}", path="within"
            )
        if session is None and within != "all":
            raise UsageError(f"within={within!r} needs a session: give its id", path="session")
        if session is not None:
            check_name(session, "session")
        self._store = store
        self._owner = owner
        self._session = session
        self._within: HistoryScope = within

    def get(self) -> str:
        """Return what can be searched."""
        return TEXTS[self._within]

    def fingerprint(self) -> str:
        """Return what is searched: another part is another configuration."""
        return self._within

    async def search(self, query: str) -> str | None:
        """Show the messages that a query finds, the best first."""
        session = self._session if self._within == "session" else None
        limit = LOOKED_AT if self._within == "others" else MOST_FOUND
        search = Search(text=query, session=session, limit=limit)
        found = (await self._store.search(self._owner, search)).hits
        if self._within == "others":
            found = [hit for hit in found if hit.session != self._session]
        return show_hits(found[:MOST_FOUND], self._session) or None
