"""The calls of the contract that are about a store as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from ...model import ChangedOwners, Health, OwnedSessionPage, Problem, SessionQuery
from ..owners import next_owners

Progress = Callable[[int, int], None]
"""Takes how much is done, and of how much."""


class AsyncStoreAdmin(ABC):
    """Calls about the store as a whole: for operators, not for agents."""

    @abstractmethod
    async def health(self) -> Health:
        """Return which store this is and whether it answers."""

    @abstractmethod
    async def schema_version(self) -> int:
        """Return the version of the stored schema."""

    @abstractmethod
    async def migrate(self) -> int:
        """Bring the stored schema to this version of sapwood; return that version."""

    @abstractmethod
    async def check(self) -> list[Problem]:
        """Look for damage and for derived figures that are wrong; change nothing."""

    @abstractmethod
    async def repair(self) -> list[Problem]:
        """Rebuild what is derived, counters and sums among it; return what is still wrong.

        What was said is never touched, and damage to it stays and is told.
        """

    @abstractmethod
    async def backup(
        self, path: str | Path, *, replace: bool = False, progress: Progress | None = None
    ) -> None:
        """Copy the store into a file, as it is at one moment, while others write to it.

        The file is there whole, or not at all. `progress` is called now and then with what is done
        and what there is to do. Raises `AlreadyExistsError` when there is such a file and it is
        not to be replaced, `UsageError` when it is the store itself or one of its files, and
        `UnsupportedOperationError` where BACKUP is not declared.
        """

    @abstractmethod
    async def list_owners(self) -> list[str]:
        """List the owners that have anything stored."""

    async def changed_owners(self, after: str = "", limit: int = 500) -> ChangedOwners:
        """List owners whose feed goes on after a cursor: each at least once, and maybe others.

        The empty cursor is the beginning of what the feeds still have. A loop goes on with the
        cursor that it was given, again and again, and finds all that changed meanwhile. Raises
        `NotFoundError` when feeds were trimmed after the cursor: take `list_owners`, then go on
        from the beginning.

        This one lists all owners, and then begins anew; a store that knows better overrides it.
        """
        return next_owners(await self.list_owners(), after, limit)

    @abstractmethod
    async def list_sessions(self, query: SessionQuery) -> OwnedSessionPage:
        """List sessions of all owners, a page at a time, each with the owner's name.

        By kind, state, and when they were created and active; what else a query may have is of one
        owner's, and refused. Where this is a look-up (the store's page says so) the last active
        come first; elsewhere they come owner by owner, and a page may have less than the limit, or
        nothing, while a cursor leads on. With `reverse` all come the other way round. Nothing comes
        twice, and all comes that is there, and is not active meanwhile.

        Raises `UsageError` for a cursor that is none.
        """
