"""Work on usage: rows by id, so that a retry is not counted twice."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ....model import Usage, UsageTotal
from ...base.refusals import usage_conflict
from ..rows import Row, SessionRow
from ..statements import SubjectStatements, T
from .lookup import get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect


class AsyncUsageStatements(SubjectStatements[T]):
    """Statements about usage. A total is a row with the fields of `UsageTotal`, in their order."""

    @abstractmethod
    async def find(self, session: SessionRow, id: str) -> Row | None:
        """Return model, message, and the figures of a call; None when it is not recorded."""

    @abstractmethod
    async def add(self, session: SessionRow, usage: Usage) -> None:
        """Record a call that is not recorded yet."""

    @abstractmethod
    async def of_session(self, session: SessionRow, *, by_message: bool) -> list[Row]:
        """Return a session's totals by model, in the order of the models' names.

        Or by message and model, in the order of the first calls.
        """

    @abstractmethod
    async def of_owner(self, owner: str) -> list[Row]:
        """Return the totals of all of an owner's sessions, by model."""


class AsyncRelationalUsage:
    """Work on usage."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect

    async def add(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a model call once."""
        row = await get_session(self._dialect, owner, session)
        stored = await self._dialect.usage.find(row, usage.id)
        if stored is None:
            await self._dialect.usage.add(row, usage)
            return True
        if tuple(stored) != figures_of(usage):
            raise usage_conflict(usage.id)
        return False

    async def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by model."""
        row = await get_session(self._dialect, owner, session)
        return [_total(it) for it in await self._dialect.usage.of_session(row, by_message=False)]

    async def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]:
        """Sum a session's usage by message and model, in the order of the first calls."""
        row = await get_session(self._dialect, owner, session)
        return [_total(it) for it in await self._dialect.usage.of_session(row, by_message=True)]

    async def totals_of_owner(self, owner: str) -> list[UsageTotal]:
        """Sum the usage of all of an owner's sessions by model."""
        return [_total(it) for it in await self._dialect.usage.of_owner(owner)]


def figures_of(usage: Usage) -> Row:
    """Return what is compared of a call, in the order of the columns."""
    return (
        usage.model,
        usage.message,
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        usage.cost_micros,
    )


def _total(row: Row) -> UsageTotal:
    return UsageTotal(**dict(zip(UsageTotal.__struct_fields__, row, strict=True)))
