"""What model calls cost, counted once each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import ConflictError
from ...model import Usage, UsageTotal
from ..base._sync.unit import Usages
from .lookup import get_session
from .state import State


class MemoryUsages(Usages):
    """Work on usage."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, owner: str, session: str, usage: Usage) -> bool:
        rows = get_session(self._state, owner, session).usage
        stored = rows.get(usage.id)
        if stored is None:
            rows[usage.id] = usage
            return True
        if stored != usage:
            raise ConflictError(
                f"usage {usage.id!r} is stored with other figures: use a new id for another call"
            )
        return False

    def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        by_model: dict[str, list[Usage]] = {}
        for usage in self._recorded(owner, session):
            by_model.setdefault(usage.model, []).append(usage)
        return [_total(None, model, by_model[model]) for model in sorted(by_model)]

    def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        by_both: dict[tuple[str | None, str], list[Usage]] = {}
        for usage in self._recorded(owner, session):
            by_both.setdefault((usage.message, usage.model), []).append(usage)
        return [_total(message, model, rows) for (message, model), rows in by_both.items()]

    def _recorded(self, owner: str, session: str) -> Iterable[Usage]:
        """Give a session's usage in the order in which it was recorded."""
        return get_session(self._state, owner, session).usage.values()


def _total(message: str | None, model: str, rows: Sequence[Usage]) -> UsageTotal:
    return UsageTotal(
        message=message,
        model=model,
        calls=len(rows),
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        reasoning_tokens=sum(row.reasoning_tokens for row in rows),
        cost_micros=sum(row.cost_micros for row in rows),
    )
