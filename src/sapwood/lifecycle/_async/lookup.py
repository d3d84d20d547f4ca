"""Which session a person means: by its id or the beginning of it, its title, or a number."""

from __future__ import annotations

import msgspec

from ...errors import NotFoundError, UsageError
from ...model import SessionKey, SessionQuery, SessionRecord
from ...rules.codec import decode_stored
from ...rules.keys import route_key
from ...rules.titles import clean_title
from .closings import AsyncClosings
from .titles import AsyncTitles

LIST_KEEPS_S = 24 * 3600.0
PAGE = 200
MOST_NAMED = 5


class AsyncLookup:
    """Sessions of one owner, as people name them. Another owner's are not there."""

    def __init__(self, closings: AsyncClosings, titles: AsyncTitles) -> None:
        self._closings = closings
        self._titles = titles

    async def list_recent(self, key: SessionKey, limit: int) -> list[SessionRecord]:
        """List the sessions that a key had, the last active first; keep their numbers for a day."""
        query = SessionQuery(key=key.parts, limit=limit)
        page = await self._closings.store.list_sessions(self._closings.owner, query)
        found = [it for it in page.sessions if it.system.key == key.parts]
        # A store's order is by the second.
        found.sort(key=lambda it: it.active_us, reverse=True)
        await self._closings.store.put_document(
            self._closings.owner,
            _list_key(key),
            msgspec.json.encode([it.id for it in found]),
            expires_in_s=LIST_KEEPS_S,
        )
        return found

    async def resolve(self, key: SessionKey, what: str | int) -> str:
        """Return the id of the session that is meant, or raise `NotFoundError`."""
        if isinstance(what, bool) or not isinstance(what, (str, int)) or what == "":
            raise UsageError("give an id, a title, or a number of the last list", path="what")
        if isinstance(what, int):
            return await self._of_list(key, what, is_sure=True) or ""
        found = await self._named(key, what)
        if found is None:
            raise NotFoundError(
                f"{self._closings.owner!r} has no session {what!r}", kind="session", id=what
            )
        return found

    async def _named(self, key: SessionKey, what: str) -> str | None:
        if (record := await self._find(what)) is not None:
            return record.id
        if what.isdecimal() and what.isascii() and len(what) <= 3:
            found = await self._of_list(key, int(what), is_sure=False)
            if found is not None:
                return found
        titled = await self._titles.find(clean_title(what))
        return await self._beginning(what) if titled is None else titled.id

    async def _find(self, id: str) -> SessionRecord | None:
        try:
            return await self._closings.find(id)
        except UsageError:
            return None  # what is no id may still be a title

    async def _of_list(self, key: SessionKey, number: int, *, is_sure: bool) -> str | None:
        document = await self._closings.store.find_document(self._closings.owner, _list_key(key))
        otherwise = f"the list of {key} cannot be read"
        decode = msgspec.json.Decoder(list[str]).decode
        ids = [] if document is None else decode_stored(decode, document.value, otherwise)
        if 1 <= number <= len(ids):
            return ids[number - 1]
        if is_sure:
            raise NotFoundError(
                f"the last list of {key} has {len(ids)} sessions, and no number {number}",
                kind="session",
                id=str(number),
            )
        return None

    async def _beginning(self, what: str) -> str | None:
        """Return the only id that begins so."""
        found: list[str] = []
        cursor: str | None = None
        while len(found) <= MOST_NAMED:
            query = SessionQuery(limit=PAGE, cursor=cursor)
            page = await self._closings.store.list_sessions(self._closings.owner, query)
            found += [it.id for it in page.sessions if it.id.startswith(what)]
            cursor = page.cursor
            if cursor is None:
                break
        if len(found) > 1:
            names = ", ".join(map(repr, found[:MOST_NAMED]))
            raise UsageError(f"several sessions begin with {what!r}: {names}", path="what")
        return found[0] if found else None


def _list_key(key: SessionKey) -> str:
    return "list/" + route_key(key).removeprefix("route/")
