"""An agent: a model, its tools, and the sessions in which it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Self, Unpack

import msgspec

from ...calls import AsyncCall
from ...errors import UsageError
from ...event_loop import AsyncEntering
from ...model import Edge, EdgeKind, ToolDefinition
from ...session._async.manager import AsyncSessionManager
from ...session._async.session import AsyncSession
from ...session.content import Content
from ...session.settings import refuse_unknown
from ...streaming import StreamEvent
from ...tools.functions import Tool
from ..answer import AgentAnswer
from ..settings import (
    AgentFields,
    ResumeFields,
    RunFields,
    approval_below,
    check_twin,
    delegate_id,
    settings_for,
)
from .calls import WaitsForApprovalError
from .run import AsyncAgentRun

TASK = {
    "type": "object",
    "properties": {"task": {"type": "string", "description": "All that has to be known of it."}},
    "required": ["task"],
    "additionalProperties": False,
}
DELEGATE = "delegate"


class AsyncAgentStream(AsyncEntering):
    """The events of a run, as they happen. A context manager; leaving it early ends the run.

    The turn is then interrupted, and `Agent.resume` goes on with it.
    """

    def __init__(self, events: AsyncIterator[StreamEvent], runs: list[AsyncAgentRun]) -> None:
        self._events: Any = events
        self._runs = runs

    @property
    def answer(self) -> AgentAnswer:
        """How the run ended; an error before that."""
        if not self._runs or self._runs[0].answer is None:
            raise UsageError("the run is not over: read its events first", path="answer")
        return self._runs[0].answer

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        event: StreamEvent = await anext(self._events)
        return event

    async def aclose(self) -> None:
        """End the run, if it goes on."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        """Return the stream itself."""
        return self

    async def __aexit__(self, *details: object) -> None:
        """End the run, if it goes on."""
        await self.aclose()


@AsyncCall.reminding
class AsyncAgent:
    """A model with tools, which answers in sessions. It holds no state: a store does.

    `model` is one of `OpenAIChat`, `OpenAIResponses` and `AnthropicMessages`, or any function of a
    `ModelInput` that returns a text, a message, or a stream. `tools` are functions, what `tool`
    made of them, or other agents.
    """

    def __init__(
        self,
        model: Any,
        *,
        name: str = "agent",
        tools: Sequence[Any] = (),
        sessions: AsyncSessionManager | None = None,
        **fields: Unpack[AgentFields],
    ) -> None:
        self._settings = settings_for(self, model, name, tools, fields, awaits=AsyncCall.awaits)
        if sessions is not None:
            check_twin(self, sessions, AsyncSessionManager, "sessions")
        self._sessions = sessions

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def name(self) -> str:
        """What it is called, also as a tool."""
        return self._settings.name

    async def run(
        self,
        question: Content,
        *,
        session: AsyncSession | str | None = None,
        **fields: Unpack[RunFields],
    ) -> AgentAnswer:
        """Answer a question in a session, or in a new one; return how it ended.

        `id` names the question: asked again, after a crash too, it goes on where it was, and what
        was answered is given as it was. `sent` is what the model is sent beside it. `context` is
        yours, for tools and hooks. `SessionBusyError` when another turn takes longer than `wait_s`.
        """
        return await _answer_of(self._stream(session, question, fields))

    def run_stream(
        self,
        question: Content,
        *,
        session: AsyncSession | str | None = None,
        **fields: Unpack[RunFields],
    ) -> AsyncAgentStream:
        """Do the same, and give what happens as it happens.

        The events are those of `EventStream`, one `DoneEvent` for each answer of the model's, and
        a `PartEvent` for each result of a tool. Where an answer was cut off and begins anew, an
        `ErrorEvent` of the code `retry` says so.
        """
        return self._stream(session, question, fields)

    async def resume(
        self, session: AsyncSession | str, **fields: Unpack[ResumeFields]
    ) -> AgentAnswer:
        """Go on with the turn at the tip: one that was cut off, or waits for an approval.

        `approve` decides all calls that wait, or each by its id, those of a sub-agent by an id
        like `c1/c2`; an id that does not wait is refused, and calls that it leaves out wait on. A
        turn that is complete is given as it was answered.
        """
        return await _answer_of(self._stream(session, None, fields))

    def resume_stream(
        self, session: AsyncSession | str, **fields: Unpack[ResumeFields]
    ) -> AsyncAgentStream:
        """Do the same, and give what happens as it happens."""
        return self._stream(session, None, fields)

    def as_tool(self) -> Tool:
        """Return it as a tool of another agent's: each call has a session of kind `delegate`."""
        settings = self._settings
        return Tool(
            definition=ToolDefinition(
                name=self.name,
                description=settings.description or settings.instructions,
                schema=TASK,
            ),
            function=self._delegated,
            run_argument="run",
        )

    def _stream(
        self, session: AsyncSession | str | None, question: Content | None, fields: Any
    ) -> AsyncAgentStream:
        known = ResumeFields if question is None else RunFields
        refuse_unknown(fields, known, ("session",))
        runs: list[AsyncAgentRun] = []
        return AsyncAgentStream(self._events(session, question, fields, runs), runs)

    async def _events(
        self,
        session: AsyncSession | str | None,
        question: Content | None,
        fields: Any,
        runs: list[AsyncAgentRun],
    ) -> AsyncIterator[StreamEvent]:
        if not isinstance(session, AsyncSession):
            given: Any = session
            if given is not None and not isinstance(given, str):
                check_twin(self, given, AsyncSession, "session")
            if self._sessions is None:
                raise UsageError("give the session, or sessions to the agent", path="session")
            sessions = self._sessions
            session = await (sessions.create() if session is None else sessions.session(session))
        run = AsyncAgentRun(self._settings, session, question, **fields)
        runs.append(run)
        events: Any = run.events()
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def _delegated(self, task: str, run: AsyncAgentRun) -> Any:
        """Do a task of another agent's, in a session of its own; a task that was begun goes on."""
        message = "" if run.last is None else run.last.id
        id = delegate_id(run.session.id, message, run.call_id)
        above = run.session
        sessions = self._sessions or AsyncSessionManager(
            above._stored.store, owner=above.owner, new_id=above._stored.setup.new_id
        )
        edge = Edge(kind=EdgeKind.DELEGATE, session=above.id)
        session = await sessions.session(id, kind=DELEGATE, parent=edge)
        approve = approval_below(run.approve, run.call_id) if run.call_id in run.decided else None
        done = AsyncAgentRun(
            self._settings,
            session,
            task,
            id=id,
            context=run.context,
            approve=approve,
            known=run.known,
            above=f"{run.above}{run.call_id}/",
        )
        try:
            async for _ in done.events():
                pass
        finally:
            run.spent.tokens += done.spent.tokens
            run.spent.cost_micros += done.spent.cost_micros
        assert done.answer is not None
        if done.answer.reason == "waiting":
            # Another one's calls may have the same ids.
            raise WaitsForApprovalError(
                [
                    msgspec.structs.replace(call, call_id=f"{run.call_id}/{call.call_id}")
                    for call in done.answer.waiting
                ]
            )
        if not done.answer.is_complete:
            raise UsageError(f"{self.name} came to no answer: {done.answer.reason}")
        return done.answer.text if done.answer.output is None else done.answer.output


async def _answer_of(stream: AsyncAgentStream) -> AgentAnswer:
    async with stream:
        async for _ in stream:
            pass
    return stream.answer
