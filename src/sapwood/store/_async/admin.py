"""The calls of the contract that are about a store as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...model import (
    ChangedOwners,
    Health,
    OwnedSessionPage,
    Problem,
    Rewritable,
    Rewritten,
    SessionQuery,
)
from ..owners import next_owners

Progress = Callable[[int, int], None]
"""Takes how much is done, and of how much."""
Rewrite = Callable[[Rewritable], Any]
"""Takes what is stored, and gives it back, changed or not; maybe as something to await."""


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
    async def rewrite(
        self, owner: str, function: Rewrite, *, after: str = "", limit: int = 1_000
    ) -> Rewritten:
        """Write anew what an owner has, as it lies: for what wraps a store and seals what it holds.

        The function is given what can be sealed, one after the other: records (of which it may
        change title and attributes), messages (parts, metadata, extra, name), versions of the data
        and documents (value), overlays in force (summary, metadata). It gives each back, changed or
        as it was; anything else of it is refused. Not given are a session's `pins`, which the store
        reads, what is expired or deleted, and what is only ever found by its value: ids, roles,
        tags, states, kinds, `system`, usage. So a new key for sealing is brought to all that was
        sealed, and whatever else is to be found must not be made of that key.

        Nothing else changes: not version, digest, tokens, position or any time; the feed does not
        tell of it, a repeated append is still known, and what is being compacted goes on. A search
        goes by the new text. Closed sessions are written, too.

        A call looks at so many things; the returned cursor goes on behind them. The function is
        called outside of the store's units of work, and what it gives is written only if the thing
        still is what it was given; otherwise it is called again with what is there now. So nothing
        that others write meanwhile is lost. When it raises, so does the call: what was written
        stays, and the last cursor holds. A thing may be given to it more than once, as after a call
        that was stopped, so it has to know what it made itself.

        What is written while it goes on may or may not be given. Before an old key is destroyed,
        begin anew until a whole pass has changed nothing. Raises `UsageError` for a cursor that is
        none.
        """

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
