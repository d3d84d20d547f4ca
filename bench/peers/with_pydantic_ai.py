"""pydantic-ai: an agent, and the table in which its documentation keeps conversations."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from conversation import ANSWER, QUESTION
from peer import LoopAlone, Settings
from pydantic_ai import Agent, ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


class PydanticAgent(LoopAlone):
    """`Agent.run`, and one row of JSON for each run, as in the package's example of a chat."""

    name: ClassVar[str] = "pydantic-ai Agent"
    package: ClassVar[str] = "pydantic-ai-slim"
    how: ClassVar[str] = (
        "`Agent(FunctionModel(...)).run(question, message_history=...)`; the package stores "
        "nothing, so `new_messages_json()` goes into a row of a table, and all rows are read "
        "before a run, in one thread, as its example of a chat does"
    )

    async def open(self, path: Path) -> None:
        """Open the file in a thread of its own, and make the table."""
        self._thread = ThreadPoolExecutor(max_workers=1)
        await self._in_thread(self._connect, path)

    def _connect(self, path: Path) -> None:
        self._file = sqlite3.connect(path)
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, chat TEXT, list TEXT)"
        )
        self._file.execute("CREATE INDEX IF NOT EXISTS of_chat ON messages (chat, id)")
        self._file.commit()

    async def close(self) -> None:
        """Close it."""
        await self._in_thread(self._file.close)
        self._thread.shutdown()

    async def settings(self) -> Settings:
        """Ask the connection."""
        return await self._in_thread(self._ask)

    def _ask(self) -> Settings:
        [journal] = self._file.execute("PRAGMA journal_mode").fetchone()
        [synchronous] = self._file.execute("PRAGMA synchronous").fetchone()
        return Settings(journal, synchronous)

    async def begin_turns(self, session: str) -> None:
        """Make an agent."""

        def answer(messages: list[ModelMessage], info: Any) -> ModelResponse:
            return ModelResponse(parts=[TextPart(ANSWER)])

        self._agent = Agent(FunctionModel(answer))
        self._chat = session

    async def answer(self) -> None:
        """Run the agent with what was said, and store what is new."""
        history: list[ModelMessage] = []
        for [row] in await self._in_thread(self._rows):
            history += ModelMessagesTypeAdapter.validate_json(row)
        found = await self._agent.run(QUESTION, message_history=history)
        assert found.output == ANSWER
        await self._in_thread(self._add, found.new_messages_json())

    def _rows(self) -> list[tuple[bytes]]:
        asked = "SELECT list FROM messages WHERE chat = ? ORDER BY id"
        return self._file.execute(asked, (self._chat,)).fetchall()

    def _add(self, new: bytes) -> None:
        self._file.execute("INSERT INTO messages (chat, list) VALUES (?, ?)", (self._chat, new))
        self._file.commit()

    async def answered(self) -> int:
        """Count the runs."""
        return len(await self._in_thread(self._rows))

    async def _in_thread(self, function: Any, *args: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, function, *args)
