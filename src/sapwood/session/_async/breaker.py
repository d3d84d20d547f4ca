"""What holds back compactions that start by themselves: kept in the document `compactor`."""

from __future__ import annotations

import msgspec

from ...rules import breaker
from .compactor_document import AsyncCompactorDocument


class AsyncBreaker:
    """Counts how the compactions of a session went."""

    __slots__ = ("_compactor",)

    def __init__(self, compactor: AsyncCompactorDocument) -> None:
        self._compactor = compactor

    async def may_run(self, tokens: int) -> bool:
        """Whether a compaction may run by itself, with a context of this size."""
        return breaker.may_run((await self._compactor.load()).breaker, tokens)

    async def note_run(self, before: int, after: int) -> None:
        """Count a compaction that was completed."""
        await self._compactor.change(
            lambda state: msgspec.structs.replace(
                state,
                breaker=breaker.after_run(state.breaker, tokens_before=before, tokens_after=after),
            )
        )

    async def note_failure(self, tokens: int) -> None:
        """Count a compaction that failed."""
        await self._compactor.change(
            lambda state: msgspec.structs.replace(
                state, breaker=breaker.after_failure(state.breaker, tokens=tokens)
            )
        )
