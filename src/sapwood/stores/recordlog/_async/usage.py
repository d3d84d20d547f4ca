"""What model calls cost, counted once each."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreCorruptError
from ....model import Usage, UsageTotal
from ...base.refusals import usage_conflict
from ..errors import BehindError
from ..log_documents import counted_by, record_key, usage_key
from ..record import work_of
from ..state import LogState
from ..work import AddUsage
from .logs import AsyncLogSubject, Decision

AT_ONCE = 500


class AsyncLogUsage(AsyncLogSubject):
    """Work on usage."""

    async def add(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a call; return whether it was new."""

        async def decide(state: LogState) -> Decision[bool]:
            work = _work(usage)
            n = await self._find(state, usage.id)
            if n is None:
                return work, True
            if (await self._read(state, [n]))[0] != work:
                raise usage_conflict(usage.id)
            return None, False

        _, is_new = await self._logs.change(owner, session, decide)
        return is_new

    async def _find(self, state: LogState, id: str) -> int | None:
        if id in state.recent_usage:
            return state.recent_usage[id]
        [stored] = await self._logs.driver.get([usage_key(state.tree, state.log, id)])
        if stored is None:
            return None
        n = counted_by(stored)
        if n > state.n:
            raise BehindError
        return n

    async def _read(self, state: LogState, numbers: Sequence[int]) -> list[AddUsage]:
        found: list[AddUsage] = []
        for start in range(0, len(numbers), AT_ONCE):
            some = numbers[start : start + AT_ONCE]
            keys = [record_key(state.tree, state.log, n) for n in some]
            for stored in await self._logs.driver.get(keys):
                work = work_of(stored)
                if not isinstance(work, AddUsage):
                    raise StoreCorruptError(f"a usage of session {state.session!r} is missing")
                found.append(work)
        return found

    async def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        state = await self._logs.current(owner, session)
        return [_total(None, model, state.totals[model]) for model in sorted(state.totals)]

    async def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum by message and model, in the order in which the first of each was recorded."""
        every = await self._logs.look(
            owner, session, lambda view: self._read(view.own, view.own.usages)
        )
        sums: dict[tuple[str | None, str], tuple[int, ...]] = {}
        for work in every:
            held = sums.get((work.message, work.model), (0,) * 6)
            added = tuple(a + b for a, b in zip(held, (1, *work.figures), strict=True))
            sums[work.message, work.model] = added
        return [_total(message, model, figures) for (message, model), figures in sums.items()]


def _work(usage: Usage) -> AddUsage:
    figures = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        usage.cost_micros,
    )
    return AddUsage(usage.id, usage.model, usage.message, figures)


def _total(message: str | None, model: str, figures: Sequence[int]) -> UsageTotal:
    calls, input, output, cached, reasoning, cost = figures
    return UsageTotal(
        message=message,
        model=model,
        calls=calls,
        input_tokens=input,
        output_tokens=output,
        cached_tokens=cached,
        reasoning_tokens=reasoning,
        cost_micros=cost,
    )
