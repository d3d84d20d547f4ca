"""A run: one turn of a session, in which a model is asked and its tools are called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from ...calls import AsyncCall
from ...errors import (
    MessageTooLargeError,
    NotFoundError,
    TurnStoppedError,
    UsageError,
)
from ...model import (
    Message,
    NewMessage,
    Part,
    Read,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    TurnRecord,
)
from ...rules.schemas import read_json
from ...rules.turns import is_said_by_user
from ...session._async.session import AsyncSession
from ...session._async.turn import AsyncTurn
from ...session._async.turn_answer import AsyncTurnAnswer
from ...session.content import Content, as_new_message
from ...session.turn_documents import mark_of
from ...streaming import DoneEvent, PartEvent, StreamEvent
from ...tools.run_base import RunBase
from ..answer import AgentAnswer, Ending
from ..results import cut_results
from ..settings import KEY, OUTPUT_TRIES, AgentSettings, Approval, Spent, is_approval
from .asking import AsyncAsking
from .calls import AsyncToolCalls

TAIL = 50


class AsyncAgentRun(RunBase):
    """What a tool that asks for it is given: the session, and a context of your own.

    `call_id` is the call that it is given to. The context goes to sub-agents, too, and is not
    stored.
    """

    def __init__(
        self,
        settings: AgentSettings,
        session: AsyncSession,
        question: Content | None,
        *,
        id: str | None = None,
        sent: str | None = None,
        context: dict[str, Any] | None = None,
        approve: Approval = None,
        wait_s: float = 90.0,
        known: set[str] | None = None,
        above: str = "",
    ) -> None:
        self.settings = settings
        self.session = session
        self.context: dict[str, Any] = {} if context is None else context
        self.call_id = ""
        self.answer: AgentAnswer | None = None
        self.last: Message | None = None
        self.spent = Spent()
        self.approve = approve
        self.decided: dict[str, bool | None] = {}
        # The ids that can be decided of: whoever is asked first has those of sub-agents, too,
        # each after the ids of the calls above it.
        self.known: set[str] = set() if known is None else known
        self.above = above
        self._question, self._id, self._sent, self._wait_s = question, id, sent, wait_s
        self._turn: AsyncTurn | None = None
        self._calls: list[ToolCallPart] = []
        self._is_again = False
        self._is_answered = False
        self._misfits = 0

    @property
    def turn(self) -> AsyncTurn:
        """The turn, while it is held."""
        if self._turn is None:
            raise UsageError("the run has not begun", path="turn")
        return self._turn

    @property
    def partial(self) -> AsyncTurnAnswer | None:
        """The answer that the model is giving: its id, and as much as came; None between answers.

        What came is stored about every second while more comes, or at once by its `save`.
        """
        return self.turn._answer

    def decision(self, call_id: str) -> bool | None:
        """Return whether a call was approved of; None while nobody decided."""
        return self.decided.get(call_id)

    async def update_context(self, **changes: Any) -> None:
        """Change the context; `on_context_update` is told of it."""
        old = dict(self.context)
        self.context.update(changes)
        if self.settings.on_context_update is not None:
            await AsyncCall.now(self.settings.on_context_update, dict(self.context), old)

    # how it goes

    async def events(self) -> AsyncIterator[StreamEvent]:
        """Do it, and yield what happens."""
        record = await self._look_back()
        if not self.above and not (self.approve is None or isinstance(self.approve, bool)):
            await self._refuse_approval()
        if record is not None and self._is_answered:
            await self._give_stored(record)
            return
        resumed = record.id if record is not None and self._question is None else None
        self._turn = turn = self.session.turn(resume=resumed, wait_s=self._wait_s)
        try:
            async with turn:
                tools = AsyncToolCalls(self)
                await self._begin(record, tools)
                steps: Any = self._go_on(tools)
                async with aclosing(steps) as events:
                    async for event in events:
                        yield event
        except TurnStoppedError:
            self._end("stopped")

    async def _look_back(self) -> TurnRecord | None:
        """Find the turn to go on with, and go back to before an answer that was cut off."""
        if self._question is not None and self._id is None:
            return None
        end = await self._path(2)
        last = end[-1] if end else None
        id = self._id or (None if last is None else mark_of(last).get("id"))
        record = None if id is None else await self.session.find_turn(id)
        if record is None and self._question is None:
            if last is None or not is_said_by_user(last):
                raise NotFoundError("there is no turn at the tip to go on with", kind="turn", id="")
            # Nobody has answered it in this session: it may be inherited, or have come otherwise.
            return TurnRecord(id=id or last.id)
        if record is None or last is None:
            return record
        # To be answered anew it was gone back from, and its answer is not at the tip.
        is_there = self._question is not None or last.id == record.last
        self._is_answered = record.state == "complete" and is_there
        if record.state != "interrupted" or len(end) < 2:
            return record
        is_cut = KEY not in last.metadata or not _calls_of(last)
        if is_cut and last.role == "assistant" and mark_of(last).get("id") == record.id:
            await self.session.checkout(end[0])
        return record

    async def _refuse_approval(self) -> None:
        """Refuse an approval that is none, or of what does not wait."""
        if not self._is_answered:
            await self._find_calls()
        ids = [call.call_id for call in self._calls]
        if not is_approval(self.approve):
            each = ", ".join(f"{id!r}: True" for id in ids) or "'c1': True"
            raise UsageError(
                f"approve is {self.approve!r:.80}: give True or False for all calls that wait, or "
                f"for each one, as {{{each}}}",
                path="approve",
            )
        begun = tuple(f"{id}/" for id in ids)
        given = self.approve if isinstance(self.approve, Mapping) else {}
        _refuse_unknown([id for id in given if id not in ids and not id.startswith(begun)], ids)

    async def _begin(self, record: TurnRecord | None, tools: AsyncToolCalls) -> None:
        """Take the question, or find what is to be done yet."""
        if self._question is not None:
            await self.turn.append("user", self._question, id=self._id, sent=self._sent)
        if record is None:
            return
        self._is_again = record.state != "waiting"
        await self._find_calls()
        # Only what waits by now is decided: the model may ask for more, under the same ids.
        self.decided = await tools.decided(self._calls, have_waited=not self._is_again)
        self.known |= {self.above + id for id in self.decided}

    async def _find_calls(self) -> None:
        """Find the calls that are not answered yet."""
        answered: set[str] = set()
        for message in reversed(await self._path(TAIL)):
            answered |= {it.call_id for it in message.parts if isinstance(it, ToolResultPart)}
            if message.role == "assistant":
                self.last = message
                self._calls = [it for it in _calls_of(message) if it.call_id not in answered]
            if message.role == "assistant" or is_said_by_user(message):
                break

    async def _go_on(self, tools: AsyncToolCalls) -> AsyncIterator[StreamEvent]:
        """Call tools and ask the model until there is an answer, or a reason to end."""
        while True:
            waiting = await tools.undecided(self._calls)
            # While some wait, only those are done that somebody decided about.
            ready = [
                it for it in self._calls if not waiting or self.decision(it.call_id) is not None
            ]
            if ready:
                with self.turn._lease.stops:
                    parts, below = await tools.results(ready, again=self._is_again)
                waiting = waiting + below
                for part in await self._keep_results(parts):
                    yield PartEvent(part=part)
            if waiting:
                await self.turn.wait_for_approval()
                ids = [call.call_id for call in waiting]
                given = self.approve if isinstance(self.approve, Mapping) else {}
                if not self.above:
                    _refuse_unknown(sorted(given.keys() - self.known), ids)
                self._end("waiting", waiting)
                return
            self._calls, self._is_again, self.decided = [], False, {}
            if limit := self.spent.limit(self.settings):
                await self.turn.interrupt(limit)
                self._end(limit)
                return
            asking = AsyncAsking(self)
            pieces: Any = asking.events()
            async with aclosing(pieces) as events:
                async for event in events:
                    yield event
            if asking.done is None:
                continue
            self.spent.steps += 1
            await self._take(asking, asking.done)
            yield asking.done
            if self.answer is not None:
                return

    async def _keep_results(self, parts: list[ToolResultPart]) -> list[Part]:
        """Store results, as the model is shown them; those that are cut are kept whole, too."""
        if not parts:
            return []
        turn = self.turn
        turn._refuse_unless_open()
        [whole] = await self.session._cleaned([NewMessage(role="tool", parts=[*parts])])
        shown = cut_results(whole, self.settings.max_result_chars)
        shown = as_new_message(shown, None, self.session._setup.counter)
        try:
            await turn._append([shown], is_clean=True)
        except MessageTooLargeError:
            shown = msgspec.structs.replace(shown, extra={})
            await turn._append([shown], is_clean=True)
        return shown.parts

    # what the model says

    async def _take(self, asking: AsyncAsking, done: DoneEvent) -> None:
        """Store an answer, and see whether it is the last."""
        answer, said = asking.stream._answer, done.message
        if not said.parts:
            await self.turn.interrupt(done.reason)
            return self._end("other")
        self._calls = [] if done.reason == "length" else asking.calls
        metadata = {**said.metadata, KEY: {"name": self.settings.name, "reason": done.reason}}
        is_over = not self._calls and done.reason not in ("pause", "length")
        output, misfit = self._read(said) if is_over else (None, None)
        is_last = is_over and misfit is None
        end = answer.complete if is_last else answer.finish
        self.last = await end(metadata=metadata)
        await asking.stream._measure()
        if misfit is not None:
            await self._correct(misfit)
        elif done.reason == "length":
            await self.turn.interrupt("length")
            self._end("length")
        elif is_over:
            self._end("complete", output=output)

    def _read(self, said: NewMessage) -> tuple[Any, str | None]:
        """Read a typed answer; say what does not fit."""
        if self.settings.output is None:
            return None, None
        text = "".join(part.text for part in said.parts if isinstance(part, TextPart))
        try:
            return read_json(text, self.settings.output), None
        except UsageError as error:
            return None, str(error)

    async def _correct(self, misfit: str) -> None:
        """Tell the model what does not fit, a few times."""
        self._misfits += 1
        if self._misfits < OUTPUT_TRIES:
            text = f"The answer does not fit its schema: {misfit}. Answer again, with JSON alone."
            await self.turn.append("user", text)
        else:
            await self.turn.interrupt("output")
            self._end("output")

    # how it ends

    def _end(
        self, reason: Any, waiting: list[ToolCallPart] | None = None, output: Any = None
    ) -> None:
        ending: Ending = reason
        self.answer = AgentAnswer(
            session=self.session.id,
            turn=self.turn.id or "",
            reason=ending,
            message=self.last,
            output=output,
            waiting=waiting or [],
            steps=self.spent.steps,
            tokens=self.spent.tokens,
            cost_micros=self.spent.cost_micros,
        )

    async def _give_stored(self, record: TurnRecord) -> None:
        """Give the answer of a turn that is complete: nothing is asked twice."""
        message = None if record.last is None else await self.session.get(record.last)
        output = None
        if message is not None and self.settings.output is not None:
            output = read_json(message.text, self.settings.output)
        self.answer = AgentAnswer(
            session=self.session.id,
            turn=record.id,
            reason="complete",
            message=message,
            output=output,
        )

    async def _path(self, limit: int) -> list[Message]:
        """Read the end of the path, as it is stored."""
        read = Read(overlays=False, limit=limit, backwards=True)
        try:
            return (await self.session._stored.read(read)).messages_only
        except NotFoundError:
            return []  # a session that the first message creates


def _refuse_unknown(unknown: list[str], waiting: list[str]) -> None:
    """Refuse an approval of calls that nobody made, or that are done."""
    if unknown:
        ids = ", ".join(map(repr, waiting)) or "none"
        raise UsageError(
            f"approve names {unknown[0]!r}, which does not wait: {ids} do", path="approve"
        )


def _calls_of(message: Message) -> list[ToolCallPart]:
    """Return the calls that the vendor did not answer itself."""
    done = {part.call_id for part in message.parts if isinstance(part, ToolResultPart)}
    return [
        part
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.call_id not in done
    ]
