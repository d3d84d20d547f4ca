"""agno: `SqliteDb`, which keeps a session's runs, and in them the messages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from agno.agent import Agent
from agno.db.base import SessionType
from agno.db.sqlite import SqliteDb
from agno.models.message import Message
from agno.run.agent import RunOutput
from agno.run.base import RunStatus
from agno.session import AgentSession
from conversation import arguments_of
from peer import Peer, Settings

from sapwood.model import NewMessage, TextPart, ToolCallPart

_AGENT = "bench"
IN_A_RUN = 2


class AgnoDb(Peer):
    """`SqliteDb`, called as an agent calls it at the end of a run."""

    name: ClassVar[str] = "agno SqliteDb"
    package: ClassVar[str] = "agno"
    how: ClassVar[str] = (
        "`upsert_run` of a run with the one message; `get_session` and `get_messages` over runs of "
        "two messages, a question and its answer; `runs_limit=25`; `Agent.fork_session`"
    )
    is_async: ClassVar[bool] = False
    cannot: ClassVar[frozenset[str]] = frozenset({"search"})

    def open(self, path: Path) -> None:
        """Open the file."""
        self._db = SqliteDb(db_file=str(path))
        self._agent = Agent(id=_AGENT, db=self._db, telemetry=False)

    def close(self) -> None:
        """Close it."""
        self._db.close()

    def settings(self) -> Settings:
        """Ask a connection of the engine."""
        with self._db.db_engine.connect() as connection:
            journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
            synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
        return Settings(journal, synchronous)

    def create(self, session: str) -> None:
        """Create the session, or write its row again."""
        row = AgentSession(session_id=session, agent_id=_AGENT, created_at=int(time.time()))
        self._db.upsert_session(row)

    def ready(self, message: NewMessage) -> Any:
        """Make a run of the one message."""
        return _run([message])

    def fill(self, session: str, talk: Sequence[NewMessage]) -> None:
        """Store run after run."""
        for begin in range(0, len(talk), IN_A_RUN):
            self.append(session, _run(talk[begin : begin + IN_A_RUN]))

    def append(self, session: str, message: Any) -> None:
        """Store a run."""
        self._db.upsert_run(message, session_id=session)

    def load(self, session: str) -> Any:
        """Get the session, and the messages of its runs."""
        found: Any = self._db.get_session(session, SessionType.AGENT)
        return found.get_messages()

    def last(self, session: str, count: int) -> Any:
        """Get the session with its latest runs."""
        runs = count // IN_A_RUN
        found: Any = self._db.get_session(session, SessionType.AGENT, runs_limit=runs)
        return found.get_messages()

    def text_of(self, item: Any) -> str:
        """Return a message's text."""
        return str(item.content)

    def fork(self, session: str, number: int) -> Any:
        """Copy the session."""
        return self._agent.fork_session(source_session_id=session)


def _run(messages: Sequence[NewMessage]) -> RunOutput:
    return RunOutput(
        run_id=str(uuid4()),
        agent_id=_AGENT,
        messages=[_message(message) for message in messages],
        status=RunStatus.completed,
    )


def _message(message: NewMessage) -> Message:
    part = message.parts[0]
    if isinstance(part, TextPart):
        return Message(role=message.role, content=part.text)
    if isinstance(part, ToolCallPart):
        function = {"name": part.name, "arguments": arguments_of(part)}
        call = {"id": part.call_id, "type": "function", "function": function}
        return Message(role="assistant", tool_calls=[call])
    return Message(role="tool", tool_call_id=part.call_id, content=part.output)
