"""What every side can do: ours, and each package that we compare with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CoroutineType
from typing import Any, ClassVar

from sapwood.model import NewMessage

Work = Any
"""What a call gives: the answer of a package for threads, or a coroutine of one for a loop."""

_SYNCHRONOUS = ("off", "normal", "full", "extra")


@dataclass(frozen=True)
class Settings:
    """How a connection writes: its journal, and when it waits for the disk."""

    journal: str
    synchronous: int

    def __str__(self) -> str:
        return f"{self.journal}, {_SYNCHRONOUS[self.synchronous]}"

    @property
    def survives_power_cut(self) -> bool:
        """Whether what was committed stays when the power goes."""
        return self.synchronous >= 2


async def answer_of(work: Work) -> Any:
    """Wait for what a package for a loop does; one for threads has done it."""
    return await work if isinstance(work, (CoroutineType, Awaitable)) else work


class Peer(ABC):
    """A package that stores conversations in a file, with its own defaults.

    `how` says in one sentence how it is driven. A message is made ready, in the package's own
    form, before the clock starts. `compacts` says that its compaction is compared, `runs` that its
    loop is, and `stores` that anything else is.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    how: ClassVar[str]
    is_async: ClassVar[bool] = True
    cannot: ClassVar[frozenset[str]] = frozenset()
    compacts: ClassVar[bool] = False
    runs: ClassVar[bool] = False
    stores: ClassVar[bool] = True

    @abstractmethod
    def open(self, path: Path) -> Work:
        """Open the file, as the package's documentation does."""

    @abstractmethod
    def close(self) -> Work:
        """Close it."""

    @abstractmethod
    def settings(self) -> Work:
        """Ask a connection that the package made how it writes: a `Settings`."""

    @abstractmethod
    def create(self, session: str) -> Work:
        """Make or find a session, where the package wants that before the first message."""

    @abstractmethod
    def ready(self, message: NewMessage) -> Any:
        """Make a message in the package's own form."""

    @abstractmethod
    def fill(self, session: str, talk: Sequence[NewMessage]) -> Work:
        """Store a conversation in the cheapest way; this is not measured."""

    @abstractmethod
    def append(self, session: str, message: Any) -> Work:
        """Append one message to a session that nobody else writes to."""

    def append_among(self, session: str, message: Any) -> Work:
        """Append one message to a session that others write to."""
        return self.append(session, message)

    @abstractmethod
    def load(self, session: str) -> Work:
        """Load all messages: a list."""

    @abstractmethod
    def last(self, session: str, count: int) -> Work:
        """Load the last messages: a list."""

    @abstractmethod
    def text_of(self, item: Any) -> str:
        """Return the text of a loaded message."""

    async def begin_compactable(self, session: str) -> None:
        """Begin a session that can be compacted."""
        raise NotImplementedError

    async def compact(self, session: str) -> None:
        """Put a summary in place of what was said, but for the end of it."""
        raise NotImplementedError

    async def shown(self, session: str) -> int:
        """Count what a model would be shown of a session."""
        raise NotImplementedError

    async def begin_turns(self, session: str) -> None:
        """Begin a session in which a model that answers at once is asked."""
        raise NotImplementedError

    async def answer(self) -> None:
        """Ask a question, and store it with its answer."""
        raise NotImplementedError

    async def answered(self) -> int:
        """Count the questions that the session holds."""
        raise NotImplementedError

    def before_fork(self, session: str) -> Work:
        """Go back to where a fork begins."""
        return None

    def fork(self, session: str, number: int) -> Work:
        """Fork the session at its end."""
        raise NotImplementedError

    def before_search(self, session: str) -> Work:
        """Index what a search will look through."""
        return None

    def search(self, session: str, word: str) -> Work:
        """Search for a word: a list of what was found."""
        raise NotImplementedError


class LoopAlone(Peer):
    """A package with a loop, whose users store conversations themselves."""

    stores: ClassVar[bool] = False
    runs: ClassVar[bool] = True

    def create(self, session: str) -> Work:
        """Do nothing: there are no sessions."""

    def ready(self, message: NewMessage) -> Any:
        """Refuse: this is not compared."""
        raise NotImplementedError

    def fill(self, session: str, talk: Sequence[NewMessage]) -> Work:
        """Refuse: this is not compared."""
        raise NotImplementedError

    def append(self, session: str, message: Any) -> Work:
        """Refuse: this is not compared."""
        raise NotImplementedError

    def load(self, session: str) -> Work:
        """Refuse: this is not compared."""
        raise NotImplementedError

    def last(self, session: str, count: int) -> Work:
        """Refuse: this is not compared."""
        raise NotImplementedError

    def text_of(self, item: Any) -> str:
        """Refuse: this is not compared."""
        raise NotImplementedError
