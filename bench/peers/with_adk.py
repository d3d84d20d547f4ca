"""google-adk: `SqliteSessionService`, and `SqliteMemoryService` for its search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from google.adk.events import Event
from google.adk.memory import SqliteMemoryService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from peer import Peer, Settings

from sapwood.model import NewMessage, Part, TextPart, ToolCallPart

_WHO = {"app_name": "bench", "user_id": "ada"}
HITS = 20


class AdkSessions(Peer):
    """`SqliteSessionService`, with one `Session` object held for each session."""

    name: ClassVar[str] = "google-adk SqliteSessionService"
    package: ClassVar[str] = "google-adk"
    how: ClassVar[str] = (
        "`append_event`, `get_session`, `GetSessionConfig(num_recent_events=50)`; searched is a "
        "copy of the session that `SqliteMemoryService.add_session_to_memory` made before"
    )
    cannot: ClassVar[frozenset[str]] = frozenset({"fork"})

    async def open(self, path: Path) -> None:
        """Open the service, and a memory beside it."""
        self._service = SqliteSessionService(str(path))
        self._memory = SqliteMemoryService(f"{path}-memory", max_results=HITS)
        self._held: dict[str, Any] = {}

    async def close(self) -> None:
        """Close both."""
        await self._service.close()
        await self._memory.close()

    async def settings(self) -> Settings:
        """Ask a connection of the service."""
        async with self._service._get_db_connection() as connection:
            [[journal]] = await connection.execute_fetchall("PRAGMA journal_mode")
            [[synchronous]] = await connection.execute_fetchall("PRAGMA synchronous")
        return Settings(journal, synchronous)

    async def create(self, session: str) -> None:
        """Find the session or create it, and hold it."""
        config = GetSessionConfig(num_recent_events=0)
        found = await self._service.get_session(**_WHO, session_id=session, config=config)
        self._held[session] = found or await self._service.create_session(
            **_WHO, session_id=session
        )

    def ready(self, message: NewMessage) -> Event:
        """Make an event."""
        role = "model" if message.role == "assistant" else "user"
        content = types.Content(role=role, parts=[_part(message.parts[0])])
        return Event(author=role, invocation_id="turn", content=content)

    async def fill(self, session: str, talk: Sequence[NewMessage]) -> None:
        """Append event by event: there is no other way."""
        for message in talk:
            await self.append(session, self.ready(message))

    def append(self, session: str, message: Any) -> Any:
        """Append an event to the session that is held."""
        return self._service.append_event(self._held[session], message)

    async def load(self, session: str) -> Any:
        """Get the session with all events."""
        found: Any = await self._service.get_session(**_WHO, session_id=session)
        return found.events

    async def last(self, session: str, count: int) -> Any:
        """Get the session with its recent events."""
        config = GetSessionConfig(num_recent_events=count)
        found: Any = await self._service.get_session(**_WHO, session_id=session, config=config)
        return found.events

    def text_of(self, item: Any) -> str:
        """Return an event's text."""
        return item.content.parts[0].text or ""

    async def before_search(self, session: str) -> None:
        """Add the session to the memory."""
        found = await self._service.get_session(**_WHO, session_id=session)
        assert found is not None
        await self._memory.add_session_to_memory(found)

    async def search(self, session: str, word: str) -> Any:
        """Search the memory."""
        return (await self._memory.search_memory(**_WHO, query=word)).memories


def _part(part: Part) -> types.Part:
    if isinstance(part, TextPart):
        return types.Part(text=part.text)
    if isinstance(part, ToolCallPart):
        call = types.FunctionCall(id=part.call_id, name=part.name, args=part.input)
        return types.Part(function_call=call)
    result = {"result": part.output}
    response = types.FunctionResponse(id=part.call_id, name="search", response=result)
    return types.Part(function_response=response)
