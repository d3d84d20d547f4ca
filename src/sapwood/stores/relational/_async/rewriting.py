"""Work on things that are written anew as they lie: each is compared, and written, under a lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....model import DataVersion, Document, Message, Overlay, Position, SessionRecord
from ....rules.codec import Packed, decode_json
from ....rules.rewriting import Replacement, is_still
from ....rules.tree import Span
from ..listed import title_key
from ..position import bounds
from ..rows import HOME, SessionRow
from .data import own_data, packed_position, version_of
from .lookup import find_seen, get_session
from .stream import spans_after

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncRelationalRewriting:
    """Work on things that are written anew."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect

    async def replace(
        self, owner: str, session: str | None, changes: Sequence[Replacement]
    ) -> list[int]:
        """Replace what is still as it was given."""
        row = None if session is None else await get_session(self._dialect, owner, session)
        lost: list[int] = []
        for at, change in enumerate(changes):
            if not await self._replace(owner, row, change):
                lost.append(at)
        return lost

    async def _replace(self, owner: str, row: SessionRow | None, change: Replacement) -> bool:
        if isinstance(change.given, Document):
            return await self._replace_document(owner, row, change.given, change.stored)
        assert row is not None
        match change:
            case Replacement(Message() as given, _, Packed() as new):
                return await self._replace_message(row, given, new)
            case Replacement(DataVersion() as given, _, bytes() as value):
                return await self._replace_data(row, given, value)
            case Replacement(Overlay() as given, Overlay(summary=summary), bytes() as metadata):
                return await self._replace_overlay(row, given, summary, metadata)
            case Replacement(SessionRecord() as given, SessionRecord(title=title), attributes):
                found = await self._dialect.sessions.find_record(owner, row.id)
                assert found is not None
                if not is_still(self._dialect.sessions.record_of(found, 0), given):
                    return False
                titled = {
                    "title": self._dialect.sessions.pack_title(title),
                    "title_key": title_key(row.owner, title),
                }
                columns = titled | {"attributes": attributes}
                await self._dialect.sessions.put_profile(row, columns)
        return True

    async def _replace_document(
        self, owner: str, row: SessionRow | None, given: Document, value: Packed | bytes
    ) -> bool:
        statements = self._dialect.documents
        if row is not None:
            scope = statements.scope_of(row)
        else:
            number = await self._dialect.lookup.find_owner(owner)
            scope = await statements.owner_scope(number)
        found = await statements.lock(scope, given.key)
        if found is None or not is_still(statements.document_of(found), given):
            return False
        assert isinstance(value, bytes)
        await statements.rewrite(scope, found, value)
        return True

    async def _replace_message(self, row: SessionRow, given: Message, new: Packed) -> bool:
        statements = self._dialect.messages
        seen = await find_seen(self._dialect, row, given.id)
        if seen is None or not seen.is_live:
            return False
        found = await statements.rows_at(row, [seen.pos])
        [stored] = await statements.messages_of(row, found.values(), {row.home: row.id})
        if stored.position != given.position or not is_still(stored, given):
            return False
        # By its home it is found, also when that is gone.
        await statements.rewrite(row._replace(home=seen.home), seen.pos, new, counts=False)
        return True

    async def _replace_data(self, row: SessionRow, given: DataVersion, value: bytes) -> bool:
        pos = packed_position(given.position)
        found = {} if pos is None else await own_data(self._dialect, row, [pos])
        if pos not in found or decode_json(found[pos], "data") != given.value:
            return False
        await self._dialect.data.rewrite(row, [(pos, value)])
        return True

    async def _replace_overlay(
        self, row: SessionRow, given: Overlay, summary: str, metadata: bytes
    ) -> bool:
        statements = self._dialect.overlays
        found = await statements.find(row, given.id)
        if found is None or not is_still(statements.overlay_of(found), given):
            return False
        await statements.rewrite(row, found, summary, metadata)
        return True

    async def list_data(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> list[DataVersion]:
        """List the versions of what a session wrote, or sees of homes that are gone."""
        row = await get_session(self._dialect, owner, session)
        found: list[DataVersion] = []
        if not row.has_data:
            return found
        async for spans in spans_after(self._dialect, row, after):
            for span in spans:
                if await self._is_given(row, span):
                    rows = await self._dialect.data.in_span(row, span, limit - len(found))
                    found += [version_of(it) for it in rows]
                if len(found) == limit:
                    return found
        return found

    async def _is_given(self, row: SessionRow, span: Span) -> bool:
        """Whether what stands in a span is the session's own, or nobody's."""
        statements, (first, _) = self._dialect.messages, bounds(span)
        rows = await statements.rows_at(row, [first])
        if first not in rows:
            return False
        home = rows[first][HOME]
        return home == row.home or (await statements.home_names(row, [home]))[home] is None
