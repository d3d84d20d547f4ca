"""The methods of a session that are about its turns."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ...calls import AsyncCall
from ...model import Message, TurnRecord
from ..references import MessageRef
from .session_base import AsyncSessionBase


@AsyncCall.reminding
class AsyncTurnMethods(AsyncSessionBase):
    """What a session does with its turns."""

    async def find_turn(self, turn: MessageRef) -> TurnRecord | None:
        """Return how a turn stands, by its id; None when there is none.

        A turn whose process died is interrupted as soon as its lease is over.
        """
        from .turn_lookup import find_turn

        return await find_turn(self._stored, turn)

    async def turns(self, *, after: str | None = None, limit: int = 50) -> list[TurnRecord]:
        """List the turns in the order of their ids, those after an id, a page at a time."""
        from .turn_lookup import list_turns

        return await list_turns(self._stored, after, limit)

    async def stop_turn(self) -> bool:
        """Stop the turn that is at work, in whatever process; return whether there was one.

        It takes no more writes from now on. Its holder is told at its next one, or within 20 s. On
        an event loop a model or tool that it waits for is cancelled then.
        """
        from .turn_lease import stop

        return await stop(self._stored)

    def iter_answer(self, message: MessageRef, *, pause_s: float = 0.25) -> AsyncIterator[Message]:
        """Stream a message as it grows, until it is whole, or its turn is over."""
        from .turn_lookup import iter_answer

        return iter_answer(self._stored, message, pause_s)
