"""Appending: one record for a batch, decided by the state that the process remembers."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import ROOT, Appended, Message, Root
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed
from ....rules.tree import Place
from ...base.refusals import no_message
from ..place import log_of, number_of, segment_name, to_wire
from ..rows import LogRow, first_digest, message_of
from ..state import LogState, MessagePlace
from ..view import LogView
from ..work import Append, AppendedMessage
from .logs import AsyncLogs, Decision
from .rows import find_places, row_at, rows_at

AppendTarget = str | Root | None
_AppendAnswer = tuple[list[Message], Sequence[Packed], Append | None]
"""What an append found stored, what was new, and how that is recorded."""


class AsyncLogAppend:
    """One append: what it asked for, and what it found."""

    def __init__(
        self,
        logs: AsyncLogs,
        batch: Sequence[Packed],
        parent: AppendTarget,
        expected_tip: AppendTarget,
    ) -> None:
        self._logs = logs
        self._batch = batch
        self._parent = parent
        self._expected_tip = expected_tip
        self._asked = [it.id for it in batch if not it.is_ours]
        if isinstance(parent, str):
            self._asked.append(parent)

    async def run(self, owner: str, session: str) -> Appended:
        """Append what is new of the batch."""
        state, (stored, new, work) = await self._logs.change(owner, session, self._decide)
        messages = stored if work is None else [*stored, *_appended(state, work, new)]
        return Appended(messages=messages, written=len(new), tip=_tip(state))

    async def _decide(self, state: LogState) -> Decision[_AppendAnswer]:
        spots = await find_places(self._logs, state, self._asked) if self._asked else {}
        rows, view = await self._stored(state, spots)
        seen = await self._known(rows, view) if view is not None else {}
        plan = plan_append(self._batch, seen, _tip(state), self._parent, self._expected_tip)
        stored: list[Message] = []
        if view is not None:
            known = self._batch[: plan.known]
            stored = [message_of(rows[spots[it.id].place], view) for it in known]
        new = self._batch[plan.known :]
        if not new:
            return None, (stored, [], None)
        after, base = await self._place(state, plan.parent, spots)
        work = _append_after(state, new, after, base, await self._logs.now())
        return work, (stored, new, work)

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
            it.id, it.role, it.tokens, now if it.created_us is None else it.created_us, it.body
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
            segment=segment,
            depth=depth,
            home=state.session,
            tokens=it.tokens,
            version=1,
            created_us=said.created_us,
        )
        for depth, (it, said) in enumerate(zip(batch, work.messages, strict=True), work.first)
    ]


def _tip(state: LogState) -> str | Root:
    return ROOT if state.tip_id is None else state.tip_id
