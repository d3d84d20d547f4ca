"""Looks at what is stored: messages by their ids, what stands around them, and all there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ....errors import StoreCorruptError
from ....model import Gap, Leaf, Message, MessagePage, Position, Recent, Root
from ..position import public
from ..rows import BODY, ID, POS, Row, SessionRow
from .data import look_through, with_data_at
from .lookup import get_pos, get_session
from .recent import find_recent
from .stream import list_messages

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncRelationalLooks:
    """Work that looks at messages."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect

    async def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        """Find messages by id."""
        row = await get_session(self._dialect, owner, session)
        seen = await self._dialect.lookup.find_all_seen(row, ids)
        live = {id: it.pos for id, it in seen.items() if it.is_live}
        messages = await self._messages_at(row, list(live.values()))
        for id, pos in live.items():
            if messages[pos].id != id:
                raise StoreCorruptError(
                    f"message {id!r} is found as {messages[pos].id!r}: repair the database"
                )
        return [messages[live[id]] if id in live else None for id in ids]

    async def parents(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[str | Root | None]:
        """Find what messages follow."""
        row = await get_session(self._dialect, owner, session)
        seen = await self._dialect.lookup.find_all_seen(row, ids)
        places = [it.pos for it in seen.values()]
        found = await self._dialect.messages.parent_ids(row, places) if places else {}
        return [found[seen[id].pos] if id in seen else None for id in ids]

    async def recent(
        self, owner: str, sessions: Sequence[str], key: str | None
    ) -> list[Recent | None]:
        """Find the ends of paths, with one statement."""
        return await find_recent(self._dialect, owner, sessions, key)

    async def homes(self, owner: str, message: str) -> list[str]:
        """Find the sessions that wrote a message."""
        number = await self._dialect.lookup.find_owner(owner)
        if number is None:
            return []
        return sorted(await self._dialect.messages.homes_with(number, message))

    async def list_page(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> MessagePage:
        """List what a session sees."""
        row = await get_session(self._dialect, owner, session)
        return await list_messages(self._dialect, row, after, limit)

    async def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List what follows a message."""
        row = await get_session(self._dialect, owner, session)
        pos = await get_pos(self._dialect, row, message)
        found = await self._dialect.messages.followers(row, pos)
        found = await look_through(self._dialect, row, set(found))
        messages = await self._messages_at(row, sorted(found))
        return list(messages.values())

    async def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""
        row = await get_session(self._dialect, owner, session)
        pos = await get_pos(self._dialect, row, leaf)
        rows = await self._dialect.messages.gaps(row, pos, after)
        return [Gap(id=id, position=public(pos), home=home) for pos, id, home in rows]

    async def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""
        row = await get_session(self._dialect, owner, session)
        ends = sorted(await self._dialect.messages.ends(row))
        rows = await self._rows_at(row, ends)
        messages = await self._messages(row, rows)
        return [
            Leaf(id=it[ID], position=public(it[POS]), message=messages.get(it[POS])) for it in rows
        ]

    async def _messages_at(self, row: SessionRow, positions: Sequence[int]) -> dict[int, Message]:
        """Return the live messages at positions, in their order."""
        return await self._messages(row, await self._rows_at(row, positions))

    async def _messages(self, row: SessionRow, rows: Iterable[Row]) -> dict[int, Message]:
        live = [it for it in rows if it[BODY] is not None]
        messages = await self._dialect.messages.messages_of(row, live, {row.home: row.id})
        messages = await with_data_at(self._dialect, row, messages)
        return dict(zip((it[POS] for it in live), messages, strict=True))

    async def _rows_at(self, row: SessionRow, positions: Sequence[int]) -> list[Row]:
        """Return the rows at positions; what stands on one that is not there is damage."""
        found = await self._dialect.messages.rows_at(row, positions)
        missing = [public(pos) for pos in positions if pos not in found]
        if missing:
            at = f"{missing[0].segment}.{missing[0].depth}"
            raise StoreCorruptError(
                f"the message at position {at} is missing from the database: "
                "it can only come back from a backup"
            )
        return [found[pos] for pos in positions]
