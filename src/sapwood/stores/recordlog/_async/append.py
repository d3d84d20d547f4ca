"""Appending: one record for a batch, decided by the state that the process remembers."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import ROOT, Appended, Message, Root
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed
from ....rules.tree import Place
from ...base.refusals import no_message
from ..append_plan import append_after, appended
from ..rows import LogRow, first_digest, message_of
from ..state import LogState, MessagePlace
from ..view import LogView
from ..work import Append
from .logs import AsyncLogs, Decision
from .message_places import find_places
from .rows import row_at, rows_at

AppendTarget = str | Root | None


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
        state, told = await self._logs.change(owner, session, self._decide)
        assert isinstance(told, _AppendAnswer)
        messages, new = told.stored, told.new
        if told.work is not None:
            messages = [*messages, *appended(state, told.work, new)]
        tip = ROOT if state.tip_id is None else state.tip_id
        return Appended(messages=messages, written=len(new), tip=tip)

    async def _decide(self, state: LogState) -> Decision:
        spots = await find_places(self._logs, state, self._asked) if self._asked else {}
        rows, view = await self._stored(state, spots)
        seen = await self._known(rows, view) if rows else {}
        tip = ROOT if state.tip_id is None else state.tip_id
        plan = plan_append(self._batch, seen, tip, self._parent, self._expected_tip)
        stored: list[Message] = []
        if view is not None:
            known = self._batch[: plan.known]
            stored = [message_of(rows[spots[it.id].place], view) for it in known]
        new = self._batch[plan.known :]
        if not new:
            return Decision(None, _AppendAnswer(stored, [], None))
        after, base = await self._place(state, plan.parent, spots)
        work = append_after(state, new, after, base, await self._logs.now())
        return Decision(work, _AppendAnswer(stored, new, work))

    async def _stored(
        self, state: LogState, spots: dict[str, MessagePlace]
    ) -> tuple[dict[Place, LogRow], LogView | None]:
        """Read what of the batch is stored."""
        known = [spots[it.id] for it in self._batch if it.id in spots]
        if not known:
            return {}, None
        view = await self._logs.view(state)
        return await rows_at(self._logs, view, known), view

    async def _known(
        self, rows: dict[Place, LogRow], view: LogView | None
    ) -> dict[str, KnownMessage]:
        assert view is not None
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


class _AppendAnswer:
    """What an append found stored, what was new, and how that is recorded."""

    def __init__(self, stored: list[Message], new: Sequence[Packed], work: Append | None) -> None:
        self.stored = stored
        self.new = new
        self.work = work
