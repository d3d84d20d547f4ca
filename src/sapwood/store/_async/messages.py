"""The calls of the contract that are about messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ...model import (
    Appended,
    Deleted,
    DocumentChange,
    Fence,
    Gap,
    History,
    Leaf,
    Message,
    MessagePage,
    NewMessage,
    OnKnown,
    Position,
    Read,
    Root,
    SessionPatch,
    UpdatedMessage,
)


class AsyncMessageCalls(ABC):
    """What is said in a session: appended, changed, erased, found and read."""

    @abstractmethod
    async def append(
        self,
        owner: str,
        session: str,
        messages: Sequence[NewMessage],
        *,
        parent: str | Root | None = None,
        expected_tip: str | Root | None = None,
        expected_version: int | None = None,
        fence: Fence | Sequence[Fence] | None = None,
        documents: Sequence[DocumentChange] = (),
        patch: SessionPatch | None = None,
        expected_snapshot: str | None = None,
        on_known: OnKnown = "return",
        data: dict[str, Any] | None = None,
        expected_data: Position | Root | None = None,
        id: str | None = None,
    ) -> Appended:
        """Append messages, one after the other, all or none.

        They follow `parent`, or without one the tip; the tip moves to the last of them. Blind
        appends of several writers all land, one after the other.

        Idempotent by message id, among the ids that the session sees: its own on all branches, and
        those of the path down to its fork point. Compared are role, parts, metadata and name as
        first appended, or the digest that was given for them. Same: the stored message is given
        back, nothing is written and the tip does not move. Other content, another explicit parent,
        or a deleted message: `MessageConflictError`. In a batch the known messages must form a
        prefix, and no id may come twice. What is new then follows the last known one when a parent
        was given; with `expected_tip` that one must be the tip; otherwise the new ones go to the
        tip. With `on_known="raise"` a known message is
        `AlreadyExistsError`. With "skip" known ones may be anywhere in a batch: they have to say
        the same and are passed over, and what is new goes after the parent or the tip. The answer
        names what was known, and what of that is not on the path to the tip. A store may send a
        call again whose answer was lost: then an `AlreadyExistsError` may mean this very call.

        `expected_snapshot` is that of a history: new messages are refused with `ConflictError` when
        a message on the path that they follow was edited or deleted since. It does not see that a
        session was cleared: give `expected_tip`, too.

        `data` is what the session's data is from the last message on. It is compared, too: a retry
        with other data, or with none, is `MessageConflictError`. Without messages, data makes a
        mark: a position of its own, named by `id` or by one that we make. `expected_data` is the
        `data_at` of the position that new messages follow, or `ROOT` where there has to be none.

        Changes of the session's documents and a patch of its record come along, all or nothing. A
        call whose messages are all known writes nothing and checks no guard, because everything was
        written together with them. The answer then has the documents' current versions.

        Raises `StaleTipError` when the tip is not the expected one, `StaleVersionError` when the
        version of the record, of a document or of the data is not, `LeaseLostError` as
        `add_overlay` does,
        `SessionClosedError` for new messages in a closed session, and `NotFoundError` for a parent
        that the session does not see.
        """

    @abstractmethod
    async def update_message(
        self,
        owner: str,
        session: str,
        message: NewMessage,
        *,
        expected_version: int | None = None,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
        documents: Sequence[DocumentChange] = (),
        patch: SessionPatch | None = None,
    ) -> UpdatedMessage:
        """Replace role, parts, metadata and name of a message; its version goes up by one.

        Its place, time and the digest that `append` compares stay as they were, and so does `extra`
        where none is given. What comes along is as for `append`: `expected_version` is that of the
        session's record. Raises what `append` raises of it, `NotFoundError` for an unknown or
        deleted message, and `ConflictError` for an inherited one: it is edited through its home
        only.
        """

    @abstractmethod
    async def delete_messages(
        self,
        owner: str,
        session: str,
        ids: Sequence[str],
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Deleted:
        """Erase messages, all or none; their positions stay, empty, and their ids stay taken.

        A message that is deleted already is passed over, whoever wrote it, and so is a mark. The
        answer lists the overlays, in force anywhere, that cover one of them: their summaries may
        quote it. Data that was appended with one stays, and the answer names it. Raises
        `NotFoundError` for an unknown message, `LeaseLostError` as `add_overlay` does, and
        `ConflictError` for an inherited one whose home is still there.
        """

    @abstractmethod
    async def find_messages(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[Message | None]:
        """Find messages that the session sees, in the order asked; None for what is not there."""

    @abstractmethod
    async def find_parents(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[str | Root | None]:
        """Find what messages follow: the id right above each on its path, `ROOT` above a first one.

        Both it and the message that is asked for may be deleted. In the order asked; None for what
        the session does not see. It is not told with each message, because a read would have to
        look above every segment that it comes to.
        """

    @abstractmethod
    async def find_homes(self, owner: str, message: str) -> list[str]:
        """Find the owner's sessions that wrote a message of this id, in the order of their names.

        An id may be used in several sessions. One that was deleted is not found, nor one whose home
        is gone. It takes a look-up in each session of the owner: it is not for every turn.
        """

    @abstractmethod
    async def list_messages(
        self, owner: str, session: str, *, after: Position | None = None, limit: int = 500
    ) -> MessagePage:
        """List the live messages that a session sees, on all its branches, a page at a time.

        By position: first the path to its fork point, then its own segments in the order in which
        they were begun, each by depth; so a message comes after the one that it follows. `after` is
        where the last page ended, or any other position that the session sees. What is appended
        meanwhile to a segment that was gone over is not in later pages: the change feed tells of
        it. Overlays are not shown. Raises `NotFoundError` for a position that the session does not
        see, also when it was cleared since.
        """

    @abstractmethod
    async def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path as it is shown, from one snapshot.

        With overlays, it is resolved from the leaf upwards: of the session's overlays that end at
        or above here, the one with the deepest end is shown, of those the widest, of those the
        newest; the messages that the session's document `pins` (a JSON list of ids) names are given
        with the summary that covers them. The cost is that of what is shown.

        A summary is in the window when a part of its range is. `bytes` and `max_bytes` count
        encoded bodies and summaries. Deleted messages do not count towards a limit. A document of
        pins that is not such a list is `StoreCorruptError`.

        With `bodies=False` nothing of what was said is read where the store can leave it out, pins
        excepted, and it is not seen whether a message is damaged. Sizes and summaries are given.

        Raises `NotFoundError` for a leaf that the session does not see.
        """

    @abstractmethod
    async def list_children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List the live messages that the session sees right after a message, by position.

        Marks are looked through: what follows one follows what it follows.
        """

    @abstractmethod
    async def list_leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of the session's branches: positions it sees that nothing it sees follows.

        An end that was deleted, or is a mark, is listed without a message. By position.
        """

    @abstractmethod
    async def list_gaps(self, owner: str, session: str, leaf: str, *, after: int = 0) -> list[Gap]:
        """List the positions on the path to a leaf, deeper than `after`, whose message was deleted.

        From the root down, the leaf's own included. So a copy can keep them: a gap may be the end
        of an overlay, and its id stays taken. Raises `NotFoundError` for a leaf that the session
        does not see.
        """
