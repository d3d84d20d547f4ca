"""A model's answer that ends its turn."""

from __future__ import annotations

from contextlib import suppress

from ...rules.turns import answers_turn
from ...streaming import DoneEvent
from .answer_stream import AsyncAnswerStream


class AsyncTurnStream(AsyncAnswerStream):
    """The events of an answer, which is stored as it grows, and whole before its `DoneEvent`.

    An answer completes the turn, unless it calls tools, which go on with it. One that is not whole
    (it failed, was cut, or is not read to its end) leaves the turn interrupted; if nothing came of
    it, the turn stays open, to ask again. Leaving it closes the response.
    """

    async def _finish(self, event: DoneEvent) -> None:
        """Write the last of it."""
        turn, answer = self._turn, self._answer
        if not event.message.parts:
            turn._answer = None
        elif event.reason in ("cut", "error"):
            await turn._fenced(lambda: turn._end("interrupted", event.reason))
        else:
            if event.reason == "pause" or not answers_turn(event.message):
                await answer.finish()
            else:
                await answer.complete()
            await self._measure()

    async def _break_off(self, error: BaseException | None) -> None:
        """Mark an answer that failed, or was left."""
        turn = self._turn
        if turn._answer is not self._answer:
            return
        await self._settle()
        if not self._answer.parts:
            turn._answer = None
        elif error is not None:
            await turn._break_off(error)
        else:
            await turn._fenced(lambda: turn._end("interrupted", "cut"))

    async def _let_go(self) -> None:
        """Close the response of a stream that was left when its turn was."""
        with suppress(RuntimeError):  # Whoever is still reading it will close it.
            await self._flow.aclose()
            await self._events.aclose()
