"""The store contract: its docstrings are the specification.

Every method is one atomic unit of work: it happens whole or not at all, and nothing is told to the
caller before it is committed. Every method takes the owner first, and reaches nothing of another
owner whatever id it is given: what belongs to somebody else is not found.

A session *sees* the messages that it wrote itself, on all its branches, and those on the path down
to its fork point; ids are looked up among these only. A deleted message keeps its id and position:
it may be a parent, a leaf, the tip, a fork point or an expected tip, but it is not found, shown or
counted. So is a mark, a position that only has data; nor is it told by the change feed, and it is
no activity. Children look through marks, and an expected tip is the tip, too, when only marks
follow it.

Sums: `context_tokens` counts what is visible at a leaf, pins and summaries included. That of a
history is exact, and so is a record's for the session that was acted through, whatever others did
to the messages that it shares, and for a fork that was just made; that of other sessions that share
an edited message is exact after `finish_deletions`.

Errors that any method may raise: `UsageError` for arguments that are wrong whatever is stored,
before anything is written; `NotFoundError` for a session that is not there; `StoreError` when the
store fails; `ClosedError` after `aclose`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, Self

from ...event_loop import AsyncEntering
from ...model import (
    Changes,
    DocumentChange,
    Fence,
    Hits,
    NewOverlay,
    NewSession,
    Overlay,
    Recent,
    Root,
    Search,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
    UpdatedSession,
    Usage,
    UsageTotal,
)
from ..capability import Capability
from .admin import AsyncStoreAdmin
from .data import AsyncDataCalls
from .documents import AsyncDocumentCalls
from .messages import AsyncMessageCalls
from .owner_usage import sum_of_sessions
from .recent import recent_by_reads


class AsyncStore(AsyncMessageCalls, AsyncDataCalls, AsyncDocumentCalls, AsyncEntering):
    """Where sessions live."""

    _opened_by = "sapwood.open_store"

    capabilities: frozenset[Capability]
    max_message_bytes: int

    @property
    @abstractmethod
    def admin(self) -> AsyncStoreAdmin:
        """The few calls that are not about one owner."""

    # sessions

    @abstractmethod
    async def create_session(self, owner: str, session: NewSession) -> SessionRecord:
        """Create a session, empty or as a fork.

        A given parent must exist; a fork's is its source, unless another is given. The edge stays
        when the parent is deleted.

        An empty one begins a tree of its own with its tip at `ROOT`. A fork is a new session in the
        tree of its source: its tip is the given message, no message is copied, and it sees the path
        down to there. It takes the overlays in force on that path by reference, and copies of the
        session's documents (not those with an expiry, nor those put with `inherit=False`), kind,
        attributes, tags, budget, model and source; not usage, title, state, end reason or what
        `system` has, and it is open. Later changes of these in one do not show in the other. A
        detached fork gets copies of the path's messages and overlays, in a tree of its own.

        A session's kind never changes.

        Raises `AlreadyExistsError` when the id is taken, and `NotFoundError` when the source
        session or message is not there.
        """

    @abstractmethod
    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record."""

    @abstractmethod
    async def update_session(
        self,
        owner: str,
        session: str,
        patch: SessionPatch,
        *,
        expected_version: int | None = None,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
        documents: Sequence[DocumentChange] = (),
    ) -> UpdatedSession:
        """Change a session's record; its version goes up by one.

        It begins at 1, or above all that a store has used before: a session that is deleted, or
        whose owner is erased, and created again under the same id never has a version twice.

        Changes of its documents come along, all or nothing. Raises `StaleVersionError` when the
        version of the record or of a document is not the expected one, `StaleTipError` when the tip
        is not, and `LeaseLostError` as `add_overlay` does. Appends do not count in the version.

        Of `system` the fields that are given change. The record's `updated_us` is moved by this and
        by whatever counts in the version, and by appends, edits and deletions of messages through
        this session; not by what is known already, refused, or about documents, usage, overlays.
        """

    @abstractmethod
    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        *,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> SessionRecord:
        """Move the tip to a message that the session sees, or to `ROOT`; its version goes up.

        Raises `StaleTipError` when the tip is not the expected one, `LeaseLostError` as
        `add_overlay` does, `SessionClosedError` for a closed session, and `NotFoundError` for a
        message that the session does not see.
        """

    @abstractmethod
    async def list_sessions(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions, newest first, a page at a time.

        These are chats, unless the query asks for another kind, or for all by None. Ranges include
        their start and not their end. By a `key`, looking costs what it finds (where the store's
        page says so). Raises `UsageError` for a cursor that is none.
        """

    async def find_recent(
        self, owner: str, sessions: Sequence[str], *, document: str | None = None
    ) -> list[Recent | None]:
        """Find the ends of the paths to sessions' tips, each with the document of a key.

        In the order asked; None for what is not there. An expired document is not found. The cost
        is that of the last places and not of the histories. This one reads session after session;
        a store that can ask for all of them at once overrides it.
        """
        return await recent_by_reads(self, owner, sessions, document)

    @abstractmethod
    async def delete_session(
        self, owner: str, session: str, *, expected_version: int | None = None
    ) -> None:
        """Delete a session and all that only it has: messages, overlays, documents, usage.

        What other sessions stand on stays: a fork keeps the path to its fork point. The session is
        gone at once; its rows may go after that, and are gone after `finish_deletions`. A session
        created later under the same id begins empty. Raises `StaleVersionError` when the record's
        version is not the expected one.
        """

    @abstractmethod
    async def clear_session(
        self, owner: str, session: str, *, keep_data: bool = False
    ) -> SessionRecord:
        """Delete a session's messages as `delete_session` does, and keep the session.

        The record's own fields, documents and usage stay. The tip is `ROOT`; overlays, pins,
        leases (documents with an expiry), what is not inherited by forks and the fork point are
        gone, and the ids used before are free again. The record's version goes up by one. With
        `keep_data`, the data that holds at the tip is kept by a mark in the same write.
        """

    # overlays

    @abstractmethod
    async def add_overlay(
        self,
        owner: str,
        session: str,
        overlay: NewOverlay,
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Overlay:
        """Put an overlay over a range, for this session.

        Both ends must be entries visible at the leaf; a summary means all that it covers. Raises
        `NotFoundError` for an end that does not exist, `ConflictError` for one that is not visible
        or when a message of the range changed since the snapshot, `UsageError` when the ends are in
        the wrong order, `AlreadyExistsError` when the id is taken in this tree,
        `SessionClosedError` for a closed session, and first of all `LeaseLostError` when a fence's
        document is not there at that version; no clock is read.
        """

    @abstractmethod
    async def list_overlays(self, owner: str, session: str) -> list[Overlay]:
        """List the overlays in force for a session, oldest first."""

    @abstractmethod
    async def undo_overlay(
        self,
        owner: str,
        session: str,
        overlay: str,
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Overlay:
        """Take an overlay out of force for this session; what it covered is shown again.

        Raises `LeaseLostError` as `add_overlay` does, and `SessionClosedError`.
        """

    # search

    @abstractmethod
    async def search(self, owner: str, search: Search) -> Hits:
        """Find messages and summaries by what they say: the best first, of equals the newest.

        Found is what matches as it stands now: what was appended or edited before the call is
        found by its text, what was edited or deleted since is not. Without a session, what the
        owner's sessions of one kind wrote is searched, and of all kinds if that is None; what is
        left of a session that is gone is found through the oldest of the kind that stands on it.
        With a session, of whatever kind, what it sees is searched, and its overlays in force.
        Messages under an overlay are found, too. Searched are text, tool calls and results, file
        names and other parts, but not reasoning or binary data; a message that cannot be decoded
        is passed over. What a query finds is decided by `sapwood.rules.match`, on every store.

        A cursor goes on after the page that gave it, for the same text, session and limit. Without
        an OR the pages follow the order in which a store gives what matches, the newest first:
        nothing comes twice, and all comes that is there at the first page and until its own,
        whatever is written meanwhile; what is new may come or not. With an OR the matches are
        ranked in blocks, of the newest 500 or of one page if that is more, and a page does not
        reach beyond a block, so it may be shorter than the limit; what is written or indexed
        meanwhile may move a hit to another page, so that it comes twice or not at all.

        Raises `UsageError` for a query that has nothing to look for, and for a cursor that is none
        or another search's; `NotFoundError` for one whose place in an index is gone.
        """

    # usage, statistics, changes

    @abstractmethod
    async def add_usage(self, owner: str, session: str, usage: Usage) -> bool:
        """Record a model call's usage; return whether it was new.

        Idempotent by its id within the session. The message that it names need not be stored: a
        call may be recorded before its answer is. Raises `ConflictError` for other figures under a
        known id.
        """

    @abstractmethod
    async def total_usage(
        self, owner: str, session: str, *, by: Literal["model", "message"] = "model"
    ) -> list[UsageTotal]:
        """Sum a session's usage: by model, in the order of their names, or by message.

        By message there is a row for each message and model, in the order in which the first call
        of each was recorded; calls that belong to no message have None for it. A message counts
        under the id that was recorded, whether it is stored, deleted or cleared away.
        """

    async def total_owner_usage(self, owner: str) -> list[UsageTotal]:
        """Sum the usage of an owner's sessions of all kinds by model, in the order of their names.

        This one asks for session after session; a store that keeps the sums overrides it.
        """
        return await sum_of_sessions(self, owner)

    @abstractmethod
    async def statistics(self, owner: str) -> Statistics:
        """Count what an owner has; of messages, those that are live and seen by some session.

        Each counts once, also where its home is gone. Sessions and messages are counted that are
        chats'; of a home that is gone nobody knows the kind any more, and its messages count, too.
        `counts` has the sessions of all kinds, by kind and state, in this order; overlays and
        documents are those of all. Exact after `finish_deletions`.
        """

    @abstractmethod
    async def changes(
        self, owner: str, *, after: str = "", limit: int = 500, reader: str | None = None
    ) -> Changes:
        """Read the change feed after a cursor; the empty cursor is its beginning.

        Each append, edit and delete comes at least once, in commit order within a session; changes
        of sessions that are gone may be left out, but not that they went. So does, as RECORD, each
        unit of work that made a session or changed its record: what counts in the record's
        version, but a clear, which is told as RETIRE. A reader takes the record as it is now, and
        passes over the kinds that it does not know.

        A change's version is the one that it made, or a later one, but never a lower one: what was
        read of a higher version holds. A deleted message's is above all that it had.

        A cursor never passes an unseen change. Naming a `reader` keeps what follows `after` from
        being trimmed, for as long as nothing of that is older than 30 days: then the reader is
        forgotten. The name is one reader's of this owner. Raises `NotFoundError` when the feed was
        trimmed behind the cursor of a reader that is not registered, or not any more, or has not
        come to it since the store was restored from a backup: read everything, then go on from
        the feed's beginning.
        """

    @abstractmethod
    async def feed_cursor(self, owner: str) -> str:
        """Return the feed's newest cursor, without reading the feed.

        What is committed after the call is told after it. What was committed before is not, but
        for what a store cannot yet tell from what is still to come.
        """

    @abstractmethod
    async def forget_reader(self, owner: str, reader: str) -> bool:
        """Let a reader of the feed hold nothing back any more; return whether it was registered."""

    @abstractmethod
    async def finish_deletions(self) -> None:
        """Bring all that is derived up to date, and finish what deletions left to be done.

        A store may remove documents that expired more than a day ago.

        After it, the sums of sessions that share an edited message are right, and nothing that was
        erased is in the store's files (where the store's page says so).
        """

    @abstractmethod
    async def erase_owner(self, owner: str) -> None:
        """Delete all that an owner has. Resumable and idempotent.

        It is complete after `finish_deletions`.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Close the store; closing it again does nothing."""

    async def __aenter__(self) -> Self:
        """Return the store itself."""
        return self

    async def __aexit__(self, *details: object) -> None:
        """Close the store."""
        await self.aclose()
