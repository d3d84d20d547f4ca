"""Our side, by the public interface: on an event loop, and for threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Literal

from conversation import ANSWER, KEPT, QUESTION, SUMMARY
from peer import Peer, Settings

import sapwood
from sapwood.agent import AsyncAgent
from sapwood.compaction import create_compact_function
from sapwood.model import NewMessage

Durability = Literal["full", "normal"]
HITS = 20
BATCH = 1_000
NEVER = 10**9
_LEVELS: dict[Durability, int] = {"normal": 1, "full": 2}


async def _summarize(prompt: str) -> str:
    return SUMMARY


class _Either(Peer):
    """What is the same for both."""

    package: ClassVar[str] = "sapwood"
    how: ClassVar[str] = "`session.append`, `history`, `fork`, `search`"

    def __init__(self, durability: Durability) -> None:
        self.durability = durability
        self._chats: dict[str, Any] = {}

    def ready(self, message: NewMessage) -> Any:
        """Keep it as it is: role and parts."""
        return message

    def text_of(self, item: Any) -> str:
        """Return the text of a loaded message."""
        return str(item.text)

    def append(self, session: str, message: Any) -> Any:
        """Append one message."""
        return self._chats[session].append(message.role, message.parts)

    def search(self, session: str, word: str) -> Any:
        """Search all sessions of the owner."""
        return self._sessions.search(word, limit=HITS)

    def fork(self, session: str, number: int) -> Any:
        """Fork at the tip."""
        return self._chats[session].fork(f"{session}-fork-{number}")

    @property
    def can_search(self) -> bool:
        """Whether this version searches."""
        return hasattr(sapwood.SessionManager, "search")

    def _settings(self) -> Settings:
        with closing(sqlite3.connect(self._path)) as file:
            [journal] = file.execute("PRAGMA journal_mode").fetchone()
        return Settings(journal, _LEVELS[self.durability])


class Ours(_Either):
    """Ours on an event loop."""

    name: ClassVar[str] = "sapwood, async"
    compacts: ClassVar[bool] = True
    runs: ClassVar[bool] = True

    async def open(self, path: Path) -> None:
        """Open the file."""
        self._path = path
        self._sessions: Any = sapwood.open_async(f"sqlite:///{path}", durability=self.durability)

    async def close(self) -> None:
        """Close it."""
        await self._sessions.aclose()

    async def settings(self) -> Settings:
        """Look at the file's journal; the level is what was asked for."""
        return self._settings()

    async def create(self, session: str) -> None:
        """Make or find the session."""
        self._chats[session] = await self._sessions.session(session)

    async def fill(self, session: str, talk: Sequence[NewMessage]) -> None:
        """Append in batches."""
        for begin in range(0, len(talk), BATCH):
            await self._chats[session].append_all(talk[begin : begin + BATCH])

    async def load(self, session: str) -> Any:
        """Read the whole history."""
        return (await self._chats[session].history()).messages_only

    async def last(self, session: str, count: int) -> Any:
        """Read the end of the history."""
        return (await self._chats[session].history(limit=count)).messages_only

    async def begin_compactable(self, session: str) -> None:
        """Make the session, with a function that compacts it, and a threshold out of reach."""
        await self.create(session)
        function = create_compact_function(_summarize, tail_token_budget=0, min_tail_messages=KEPT)
        self._chats[session].compact_with(function).compact_after(NEVER)

    async def compact(self, session: str) -> None:
        """Compact it."""
        outcome = await self._chats[session].compact()
        assert outcome.status == "done", outcome.reason

    async def shown(self, session: str) -> int:
        """Count the entries of the history."""
        return len((await self._chats[session].history()).entries)

    async def begin_turns(self, session: str) -> None:
        """Make an agent, and the session."""
        self._agent = AsyncAgent(lambda given: ANSWER)
        self._asked = await self._sessions.session(session)

    async def answer(self) -> None:
        """Run the agent."""
        answer = await self._agent.run(QUESTION, session=self._asked)
        assert answer.text == ANSWER

    async def answered(self) -> int:
        """Count the complete turns."""
        return sum(it.state == "complete" for it in await self._asked.turns(limit=10_000))

    async def before_search(self, session: str) -> None:
        """Wait for the index."""
        await self._sessions.finish_deletions()


class OursSync(_Either):
    """Ours for threads."""

    name: ClassVar[str] = "sapwood"
    is_async: ClassVar[bool] = False

    def open(self, path: Path) -> None:
        """Open the file."""
        self._path = path
        self._sessions: Any = sapwood.open(f"sqlite:///{path}", durability=self.durability)

    def close(self) -> None:
        """Close it."""
        self._sessions.close()

    def settings(self) -> Settings:
        """Look at the file's journal; the level is what was asked for."""
        return self._settings()

    def create(self, session: str) -> None:
        """Make or find the session."""
        self._chats[session] = self._sessions.session(session)

    def fill(self, session: str, talk: Sequence[NewMessage]) -> None:
        """Append in batches."""
        for begin in range(0, len(talk), BATCH):
            self._chats[session].append_all(talk[begin : begin + BATCH])

    def load(self, session: str) -> Any:
        """Read the whole history."""
        return self._chats[session].history().messages_only

    def last(self, session: str, count: int) -> Any:
        """Read the end of the history."""
        return self._chats[session].history(limit=count).messages_only

    def before_search(self, session: str) -> None:
        """Wait for the index."""
        self._sessions.finish_deletions()
