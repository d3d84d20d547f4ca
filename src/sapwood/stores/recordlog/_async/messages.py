"""Work on messages. An append is one record for a batch, decided by the state in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ....errors import StoreError
from ....model import (
    ROOT,
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
    Root,
    UpdatedMessage,
)
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed, decode_body, keeping_extra
from ....rules.tree import Place, spans_after
from ...base.append_request import Request
from ...base.extras import Extras
from ...base.refusals import delete_inherited, edit_inherited, in_doubt, no_message
from ..extras import extra_works, refuse_by_extras, refuse_closed, refuse_lost, versions_of
from ..rows import LogRow, first_digest, message_of
from ..session_record import tip_of
from ..state import LogState, MessagePlace
from ..view import LogView
from ..work import (
    Append,
    AppendedMessage,
    CombinedWork,
    Edit,
    Erase,
    ErasedPlace,
    log_of,
    number_of,
    public,
    segment_name,
    to_wire,
)
from .descendants import quoting_overlays
from .history import read, records_ahead
from .leftovers import erase_leftovers
from .logs import AsyncLogs, AsyncLogSubject, Decision, again
from .looks import ends, find_homes, find_parents, following, list_messages
from .overlays import refuse_changed
from .rows import FIRST_PAGE, find_places, find_rows, get_place, row_at, rows_at, stream

AppendTarget = str | Root | None


class _AppendAnswer(NamedTuple):
    """What an append found stored, what of that elsewhere, what was new, how that is recorded."""

    stored: list[Message] = []
    elsewhere: list[str] = []
    new: Sequence[Packed] = ()
    work: Append | None = None


class AsyncLogAppend:
    """One append: what it asked for, and what it found."""

    def __init__(self, logs: AsyncLogs, request: Request) -> None:
        self._logs = logs
        self._request = request
        self._batch, self._parent = request.batch, request.parent
        self._extras = request.extras
        self._asked = [it.id for it in self._batch if not it.is_ours]
        if isinstance(self._parent, str):
            self._asked.append(self._parent)

    async def run(self) -> Appended:
        """Append what is new of the batch."""
        request = self._request
        state, told = await self._logs.change(request.owner, request.session, self._decide)
        new = [] if told.work is None else _appended(state, told.work, told.new)
        return Appended(
            messages=[*told.stored, *new],
            written=len(new),
            tip=tip_of(state),
            documents=versions_of(state, self._extras.documents),
            known=[message.id for message in told.stored],
            elsewhere=told.elsewhere,
        )

    async def _decide(self, state: LogState) -> Decision[_AppendAnswer]:
        spots = await find_places(self._logs, state, self._asked) if self._asked else {}
        rows, view = await self._stored(state, spots)
        seen = await self._known(rows, view) if view is not None else {}
        guards = (self._parent, self._request.expected_tip, self._request.on_known)
        plan = plan_append(self._batch, seen, tip_of(state), *guards)
        new = plan.batch[plan.known :]
        if new:
            refuse_by_extras(state, None, self._extras)
            refuse_closed(state)
        after, base = await self._place(state, plan.parent, spots)
        told = _AppendAnswer()
        if view is not None:
            places = [spots[it.id].place for it in plan.batch[: plan.known]]
            stored = [message_of(rows[it], view) for it in places]
            elsewhere = [rows[it].id for it in places if not view.on_path(it, after)]
            told = _AppendAnswer(stored, elsewhere)
        if not new:
            return None, told
        await self._refuse_changed(state, after)
        now = await self._logs.now()
        work = _append_after(state, new, after, base, now)
        works = CombinedWork(work, extra_works(state, self._extras, now))
        return works, told._replace(new=new, work=work)

    async def _refuse_changed(self, state: LogState, after: Place | None) -> None:
        snapshot = self._request.expected_snapshot
        if snapshot is not None:
            refuse_changed(self._logs, await self._logs.view(state), 1, after, snapshot)

    async def _stored(
        self, state: LogState, spots: dict[str, MessagePlace]
    ) -> tuple[dict[Place, LogRow], LogView | None]:
        """Read what of the batch is stored."""
        known = [spots[it.id] for it in self._batch if it.id in spots]
        if not known:
            return {}, None
        view = await self._logs.view(state)
        return await rows_at(self._logs, view, known), view

    async def _known(self, rows: dict[Place, LogRow], view: LogView) -> dict[str, KnownMessage]:
        known: dict[str, KnownMessage] = {}
        for row in rows.values():
            parent: str | Root = ""
            if self._parent is not None:
                before = view.before(row.place)
                parent = ROOT
                if before is not None:
                    parent = (await row_at(self._logs, view, before)).id
            known[row.id] = KnownMessage(first_digest(row), parent)
        return known

    async def _place(
        self, state: LogState, parent: AppendTarget, spots: dict[str, MessagePlace]
    ) -> tuple[Place | None, int]:
        """Return the position that the batch follows, and the tokens down to it."""
        if parent is None or parent == state.tip_id:
            return state.tip, state.tip_base
        if isinstance(parent, Root):
            return None, 0
        if parent not in spots:
            raise no_message(state.session, parent)
        view = await self._logs.view(state)
        rows = await rows_at(self._logs, view, [spots[parent]])
        return spots[parent].place, rows[spots[parent].place].base


def _append_after(
    state: LogState, batch: Sequence[Packed], after: Place | None, base: int, now: int
) -> Append:
    """Return the record of messages that follow a position: in its segment, if that ends there."""
    said = [
        AppendedMessage(
            it.id,
            it.role,
            it.tokens,
            now if it.created_us is None else it.created_us,
            it.body,
            digest=it.given_digest,
        )
        for it in batch
    ]
    first = 1 if after is None else after.depth + 1
    if after is not None and log_of(after.segment) == state.log:
        number = number_of(after.segment)
        if number > state.retired and state.segments[number - 1].last == after.depth:
            return Append(now, number, first, False, None, base, said)
    parent = after and to_wire(after, state.log)
    return Append(now, len(state.segments) + 1, first, True, parent, base, said)


def _appended(state: LogState, work: Append, batch: Sequence[Packed]) -> list[Message]:
    """Return the messages of a batch as they were stored."""
    segment = segment_name(state.own(work.number))
    return [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            extra=it.extra,
            name=it.name,
            segment=segment,
            depth=depth,
            home=state.session,
            tokens=it.tokens,
            version=1,
            created_us=said.created_us,
        )
        for depth, (it, said) in enumerate(zip(batch, work.messages, strict=True), work.first)
    ]


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
            refuse_by_extras(state, expected_tip, extras)
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
            told = Deleted(ids=[row.id for row in doomed], quoting_overlays=quoting)
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
            rows = [await row_at(self._logs, view, it) for it in following(view, place)]
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
                if row.body is None
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
