"""Work on messages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ....errors import NotFoundError, StoreError
from ....model import (
    Appended,
    Deleted,
    Fence,
    Gap,
    History,
    Leaf,
    Message,
    MessagePage,
    Position,
    Read,
    Recent,
    Root,
    UpdatedMessage,
)
from ....rules.codec import Packed, decode_body, keeping_extra
from ....rules.tree import spans_after
from ...base.append_request import Request
from ...base.extras import Extras
from ...base.refusals import (
    delete_inherited,
    edit_inherited,
    in_doubt,
    no_message,
)
from ..extras import extra_works, refuse_by_extras, refuse_closed, refuse_lost, versions_of
from ..rows import LogRow, first_digest, message_of
from ..state import LogState
from ..view import LogView
from ..work import (
    CombinedWork,
    Edit,
    Erase,
    ErasedPlace,
    number_of,
    public,
    to_wire,
)
from .append import AsyncLogAppend
from .data import refuse_other_tip
from .descendants import quoting_overlays
from .history import read, records_ahead
from .leftovers import erase_leftovers
from .logs import AsyncLogSubject, Decision, again
from .looks import after_marks, ends, find_homes, find_parents, list_messages
from .recent import find_recent
from .rows import FIRST_PAGE, find_places, find_rows, get_place, row_at, rows_at, stream


class AsyncLogMessages(AsyncLogSubject):
    async def append(self, request: Request) -> Appended:
        with in_doubt(request.batch):
            return await AsyncLogAppend(self._logs, request).run()

    async def read(self, owner: str, session: str, query: Read) -> History:
        return await self._logs.look(
            owner,
            session,
            lambda view: read(self._logs, view, query),
            (lambda state: records_ahead(state, query)) if self._logs.driver.rows is None else None,
        )

    async def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        async def work(view: LogView) -> list[Message | None]:
            rows = await find_rows(self._logs, view, ids)
            found = {row.id: message_of(row, view) for row in rows if row.body is not None}
            return [found.get(id) for id in ids]

        return await self._logs.look(owner, session, work)

    async def parents(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[str | Root | None]:
        """Find what messages follow."""
        return await self._logs.look(
            owner, session, lambda view: find_parents(self._logs, view, ids)
        )

    async def recent(
        self, owner: str, sessions: Sequence[str], key: str | None
    ) -> list[Recent | None]:
        """Find the ends of paths, session by session."""
        found: list[Recent | None] = []
        for session in sessions:
            try:
                look = self._logs.look(owner, session, lambda it: find_recent(self._logs, it, key))
                found.append(await look)
            except NotFoundError:
                found.append(None)
        return found

    async def homes(self, owner: str, message: str) -> list[str]:
        """Find the sessions that wrote a message, with a look at each of them."""

        async def attempt() -> list[str]:
            states = await self._logs.alive(owner)
            return await self._logs.read_by(
                states, lambda views: find_homes(self._logs, views, message)
            )

        return sorted(await again(attempt))

    async def list_page(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> MessagePage:
        """List what a session sees."""
        return await self._logs.look(
            owner, session, lambda view: list_messages(self._logs, view, after, limit)
        )

    async def update(
        self,
        owner: str,
        session: str,
        message: Packed,
        expected_tip: str | Root | None,
        extras: Extras,
    ) -> UpdatedMessage:
        """Replace a message's content."""

        async def decide(state: LogState) -> Decision[Message]:
            refuse_by_extras(state, extras)
            await refuse_other_tip(self._logs, state, expected_tip)
            refuse_closed(state)
            view = await self._logs.view(state)
            row = next(iter(await find_rows(self._logs, view, [message.id])), None)
            if row is None or row.body is None:
                raise no_message(session, message.id)
            if not view.is_own(row.place.segment):
                raise edit_inherited(message.id)
            new = message
            if message.keeps_extra:
                new = keeping_extra(message, decode_body(row.body, row.id).extra)
            now = await self._logs.now()
            work = CombinedWork(_edit(row, new, now), extra_works(state, extras, now))
            return work, message_of(_edited(row, new), view)

        state, told = await self._logs.change(owner, session, decide)
        with suppress(StoreError):
            await erase_leftovers(self._logs, state)
        return UpdatedMessage(message=told, documents=versions_of(state, extras.documents))

    async def delete(
        self, owner: str, session: str, ids: Sequence[str], fences: Sequence[Fence]
    ) -> Deleted:
        async def decide(state: LogState) -> Decision[Deleted]:
            refuse_lost(state, fences)
            view = await self._logs.view(state)
            doomed = await self._doomed(view, ids)
            if not doomed:
                return None, Deleted(ids=[], quoting_overlays=[])
            quoting = await quoting_overlays(self._logs, view, [row.place for row in doomed])
            spots = [
                ErasedPlace(
                    to_wire(it.place, state.log),
                    it.n,
                    it.original,
                    it.id,
                    version=it.version + 1,
                )
                for it in doomed
            ]
            told = Deleted(
                ids=[row.id for row in doomed],
                quoting_overlays=quoting,
                data=[public(row.place) for row in doomed if row.data is not None],
            )
            return Erase(await self._logs.now(), spots), told

        state, told = await self._logs.change(owner, session, decide)
        # It is committed: what fails here is done by the next who comes by.
        with suppress(StoreError):
            await erase_leftovers(self._logs, state)
        return told

    async def _doomed(self, view: LogView, ids: Sequence[str]) -> list[LogRow]:
        spots = await find_places(self._logs, view.own, ids)
        for id in ids:
            if id not in spots:
                raise no_message(view.own.session, id)
        rows = await rows_at(self._logs, view, list(spots.values()))
        by_id = {row.id: row for row in rows.values() if row.body is not None}
        doomed = [by_id[id] for id in dict.fromkeys(ids) if id in by_id]
        for row in doomed:
            home = view.home_of(row.place.segment)
            if home is not None and not view.is_own(row.place.segment):
                raise delete_inherited(row.id, home)
        return doomed

    async def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List what follows a message."""

        async def work(view: LogView) -> list[Message]:
            place = None
            if isinstance(message, str):
                place = (await get_place(self._logs, view.own, message)).place
            rows = [await row_at(self._logs, view, it) for it in after_marks(view, place)]
            return [message_of(row, view) for row in rows if row.body is not None]

        return await self._logs.look(owner, session, work)

    async def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""

        async def work(view: LogView) -> list[Gap]:
            place = (await get_place(self._logs, view.own, leaf)).place
            spans = spans_after(after, place, view.lineage_of)
            return [
                Gap(
                    id=row.id,
                    position=public(row.place),
                    home=view.home_of(row.place.segment),
                )
                async for rows in stream(self._logs, view, spans, backwards=False, page=FIRST_PAGE)
                for row in rows
                if row.body is None and not row.is_mark
            ]

        return await self._logs.look(owner, session, work)

    async def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""

        async def work(view: LogView) -> list[Leaf]:
            rows = [await row_at(self._logs, view, it) for it in ends(view)]
            return [
                Leaf(
                    id=row.id,
                    position=public(row.place),
                    message=None if row.body is None else message_of(row, view),
                )
                for row in rows
            ]

        return await self._logs.look(owner, session, work)


def _edit(row: LogRow, message: Packed, now: int) -> Edit:
    return Edit(
        at_us=now,
        number=number_of(row.place.segment),
        depth=row.place.depth,
        appended=row.n,
        id=row.id,
        version=row.version + 1,
        original=row.original,
        tokens=message.tokens,
        created_us=row.created_us,
        role=message.role,
        digest=first_digest(row),
        body=message.body,
    )


def _edited(row: LogRow, new: Packed) -> LogRow:
    return row._replace(role=new.role, tokens=new.tokens, version=row.version + 1, body=new.body)
