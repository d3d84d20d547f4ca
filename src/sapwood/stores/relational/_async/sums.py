"""How full the context is, and what a session shows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from ....rules.tree import Cover, Span
from ..rows import SessionRow
from ..statements import SubjectStatements, T


class AsyncSumStatements(SubjectStatements[T]):
    """Statements about what a session shows at a leaf, and about its tokens."""

    @abstractmethod
    async def visible(self, session: SessionRow, leaf: int) -> Iterable[Span | Cover]:
        """Return what is shown at a leaf, upwards; it may be looked up while it is gone through.

        A cover brings the row of its overlay along.
        """

    @abstractmethod
    async def pins_under(self, session: SessionRow, pins: list[int], cover: Cover) -> list[int]:
        """Return those of the pinned positions that an overlay covers, by depth."""

    @abstractmethod
    async def context_at(self, session: SessionRow, leaf: int) -> int:
        """Return the tokens shown at a leaf."""

    async def keep_context_at(self, session: SessionRow, leaf: int) -> int:
        """Return the tokens shown at a leaf, in a unit that writes: sums on the way may be kept."""
        return await self.context_at(session, leaf)

    @abstractmethod
    async def renew_context(self, session: SessionRow) -> None:
        """Work out a session's context at its tip; keep it, and how many overlays its row has."""
