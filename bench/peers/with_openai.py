"""openai-agents: `SQLiteSession`, alone and under its compaction, and `AdvancedSQLiteSession`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage
from agents.extensions.memory import AdvancedSQLiteSession
from agents.memory import OpenAIResponsesCompactionSession
from conversation import ANSWER, QUESTION, SUMMARY, arguments_of
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from peer import Peer, Settings

from sapwood.model import NewMessage, TextPart, ToolCallPart


class _Responses:
    """Stands in for the service: answers `responses.compact` at once, as its protocol says."""

    async def compact(self, *, input: list[Any], **_: Any) -> Any:
        """Return all that the user said, and one item for all the rest."""
        said = [item for item in input if item.get("role") == "user"]
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": SUMMARY}
        return SimpleNamespace(output=[*said, item], usage=None)


class _Scripted(Model):
    """A model that answers at once."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        """Return the same answer every time."""
        text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="msg_1", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Refuse: nothing is streamed here."""
        raise NotImplementedError


class SqliteSessions(Peer):
    """`SQLiteSession`, one object for each session, as the runner is given it."""

    name: ClassVar[str] = "openai-agents SQLiteSession"
    package: ClassVar[str] = "openai-agents"
    how: ClassVar[str] = (
        "`add_items([item])`, `get_items()`, `get_items(limit=50)`; compacted by "
        "`OpenAIResponsesCompactionSession.run_compaction`, with a client that answers at once; "
        "turns by `Runner.run(agent, question, session=session)`, without tracing"
    )
    cannot: ClassVar[frozenset[str]] = frozenset({"fork", "search"})
    compacts: ClassVar[bool] = True
    runs: ClassVar[bool] = True

    async def open(self, path: Path) -> None:
        """Note the file: each session opens it."""
        self._path = path
        self._sessions: dict[str, Any] = {}

    async def close(self) -> None:
        """Close every session."""
        for session in self._sessions.values():
            getattr(session, "underlying_session", session).close()

    async def settings(self) -> Settings:
        """Ask the connection of a worker thread."""
        return await asyncio.to_thread(self._ask)

    def _ask(self) -> Settings:
        with next(iter(self._sessions.values()))._locked_connection() as connection:
            [journal] = connection.execute("PRAGMA journal_mode").fetchone()
            [synchronous] = connection.execute("PRAGMA synchronous").fetchone()
        return Settings(journal, synchronous)

    async def create(self, session: str) -> None:
        """Open the session."""
        self._sessions[session] = SQLiteSession(session, self._path)

    def ready(self, message: NewMessage) -> Any:
        """Make an input item."""
        part = message.parts[0]
        if isinstance(part, TextPart):
            return [{"role": message.role, "content": part.text}]
        if isinstance(part, ToolCallPart):
            named = {"call_id": part.call_id, "name": part.name}
            return [{"type": "function_call", **named, "arguments": arguments_of(part)}]
        answer = {"call_id": part.call_id, "output": part.output}
        return [{"type": "function_call_output", **answer}]

    async def fill(self, session: str, talk: Sequence[NewMessage]) -> None:
        """Add all items at once."""
        await self._sessions[session].add_items([self.ready(it)[0] for it in talk])

    def append(self, session: str, message: Any) -> Any:
        """Add one item."""
        return self._sessions[session].add_items(message)

    def load(self, session: str) -> Any:
        """Get all items."""
        return self._sessions[session].get_items()

    def last(self, session: str, count: int) -> Any:
        """Get the latest items."""
        return self._sessions[session].get_items(limit=count)

    def text_of(self, item: Any) -> str:
        """Return an item's text."""
        return str(item.get("content", ""))

    async def begin_compactable(self, session: str) -> None:
        """Open the session under the one that compacts."""
        client: Any = SimpleNamespace(responses=_Responses())
        stored = SQLiteSession(session, self._path)
        self._sessions[session] = OpenAIResponsesCompactionSession(session, stored, client=client)

    async def compact(self, session: str) -> None:
        """Compact all items that are stored."""
        await self._sessions[session].run_compaction({"force": True, "compaction_mode": "input"})

    async def shown(self, session: str) -> int:
        """Count the items."""
        return len(await self._sessions[session].get_items())

    async def begin_turns(self, session: str) -> None:
        """Make an agent, and open the session."""
        self._agent: Any = Agent(name="agent", model=_Scripted())
        self._config = RunConfig(tracing_disabled=True)
        await self.create(session)
        self._asked = self._sessions[session]

    async def answer(self) -> None:
        """Run the agent."""
        found = await Runner.run(
            self._agent, QUESTION, session=self._asked, run_config=self._config
        )
        assert found.final_output == ANSWER

    async def answered(self) -> int:
        """Count what the user said."""
        return sum(item.get("role") == "user" for item in await self._asked.get_items())


class AdvancedSessions(SqliteSessions):
    """`AdvancedSQLiteSession`, which has branches and finds turns."""

    name: ClassVar[str] = "openai-agents AdvancedSQLiteSession"
    how: ClassVar[str] = (
        "the same, `create_branch_from_turn` of the last turn, and `find_turns_by_content`, "
        "which looks through what the user said in one session"
    )
    cannot: ClassVar[frozenset[str]] = frozenset()
    compacts: ClassVar[bool] = False
    runs: ClassVar[bool] = False

    async def create(self, session: str) -> None:
        """Open the session."""
        self._sessions[session] = AdvancedSQLiteSession(
            session_id=session, db_path=self._path, create_tables=True
        )

    async def before_fork(self, session: str) -> None:
        """Go back to the main branch, and find its last turn."""
        advanced = self._sessions[session]
        await advanced.switch_to_branch("main")
        self._turn = (await advanced.get_conversation_turns())[-1]["turn"]

    def fork(self, session: str, number: int) -> Any:
        """Branch from the last turn."""
        return self._sessions[session].create_branch_from_turn(self._turn, f"fork-{number}")

    def search(self, session: str, word: str) -> Any:
        """Find the user's turns that have the word."""
        return self._sessions[session].find_turns_by_content(word)
