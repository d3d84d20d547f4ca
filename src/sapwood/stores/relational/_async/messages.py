"""Work on messages: append as the contract says, change, erase, find, and look around."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ....model import (
    Appended,
    ChangeKind,
    Deleted,
    Fence,
    History,
    Message,
    Read,
    Root,
    UpdatedMessage,
)
from ....rules.codec import Packed
from ....rules.tree import Span
from ...base.append_request import Request
from ...base.extras import Extras
from ...base.refusals import delete_inherited, edit_inherited, no_message
from ..position import public
from ..rows import (
    HOME,
    HasRoom,
    HomeNames,
    Row,
    SeenMessage,
    SessionRow,
    Touches,
    message_of,
)
from ..statements import SubjectStatements, T
from .append import append_planned
from .data import own_data
from .documents import refuse_lost
from .extras import refuse_by_extras, refuse_closed, write_extras_after
from .looks import AsyncRelationalLooks
from .lookup import find_seen, get_session
from .read import read_path

if TYPE_CHECKING:
    pass


class AsyncMessageStatements(SubjectStatements[T]):
    """Statements about messages.

    A row begins with pos, home, id, role, tokens, version, created_at, body, which is None where
    the message was deleted.
    """

    spans_at_once: int
    """How many spans of a path are read by one statement."""
    may_have_landed: bool
    """Whether an append is sent again after a lost connection, so that our own ids may be known."""

    @abstractmethod
    async def rows_at(self, session: SessionRow, positions: Sequence[int]) -> dict[int, Row]:
        """Return the rows at positions, deleted messages' too."""

    async def messages_of(
        self, session: SessionRow, rows: Collection[Row], names: HomeNames
    ) -> list[Message]:
        """Return the messages of live rows; `names` is filled as homes are met."""
        unknown = {row[HOME] for row in rows} - names.keys()
        names.update(await self.home_names(session, unknown) if unknown else {})
        return [message_of(row, names[row[HOME]]) for row in rows]

    @abstractmethod
    async def home_names(self, session: SessionRow, homes: Collection[int]) -> HomeNames:
        """Return the sessions behind homes, all of them; None for those that are gone."""

    # changes

    @abstractmethod
    async def rewrite(
        self, session: SessionRow, pos: int, new: Packed, *, counts: bool = True
    ) -> int:
        """Replace a live message's content; return how many tokens it had.

        Its digest as it was first appended is kept. Where it does not count, its version is, too;
        `session` has its home then, and what is searched follows without the feed.
        """

    @abstractmethod
    async def erase(self, session: SessionRow, doomed: Sequence[SeenMessage]) -> dict[int, int]:
        """Empty positions, and count them out; return how many tokens each had."""

    @abstractmethod
    async def note(self, session: SessionRow, deltas: dict[int, int], kind: ChangeKind) -> None:
        """Keep the feed and the sums right after messages changed their tokens by so many."""

    @abstractmethod
    async def quoting(self, session: SessionRow, positions: Sequence[int]) -> list[str]:
        """Return the overlays of the tree that cover any of the positions, the oldest first."""

    # looking around

    @abstractmethod
    async def followers(self, session: SessionRow, pos: int) -> Iterable[int]:
        """Return the positions right after a position that a session sees."""

    @abstractmethod
    async def ends(self, session: SessionRow) -> Iterable[int]:
        """Return the positions at the ends of a session's branches."""

    @abstractmethod
    async def homes_with(self, owner: int, id: str) -> list[str]:
        """Return the owner's sessions that wrote a live message of this id."""

    @abstractmethod
    async def own_segments(
        self, session: SessionRow, first: int, most: int
    ) -> list[tuple[int, int]]:
        """Return a session's segments from a number on, in order, each with what it follows."""

    @abstractmethod
    async def gaps(self, session: SessionRow, leaf: int, after: int) -> list[Row]:
        """Return pos, id and home's session of the empty positions of a path, from the root."""

    # appending

    @abstractmethod
    async def first_digests(
        self, session: SessionRow, seen: Iterable[SeenMessage]
    ) -> dict[int, bytes | None]:
        """Return messages' digests as first appended, by position; None of deleted ones."""

    @abstractmethod
    async def parent_ids(
        self, session: SessionRow, positions: Iterable[int]
    ) -> dict[int, str | Root]:
        """Return the ids of the messages that positions follow, deleted ones' too."""

    @abstractmethod
    async def on_path(
        self, session: SessionRow, positions: Collection[int], leaf: int
    ) -> Collection[int]:
        """Return those of the positions that are on the path to a leaf."""

    @abstractmethod
    async def write_after(
        self, session: SessionRow, pos: int, batch: Sequence[Packed], now: int
    ) -> tuple[int, int | None]:
        """Write new messages after a position, move the tip, and note it in the feed.

        Return the first one's position, and the context after them where it is known.
        """

    # reading

    @abstractmethod
    async def read_spans(
        self,
        session: SessionRow,
        spans: list[Span],
        *,
        backwards: bool,
        most: int | None,
        has_room: HasRoom | None,
        names: HomeNames,
        bodies: bool = True,
    ) -> tuple[list[Message], int]:
        """Return live messages of spans, which are given in the order of the read, and their bytes.

        At most so many are looked at, until one has no room by its bytes; what has none is not
        decoded: it may be damaged. Without `bodies` only their sizes are read.
        """

    @abstractmethod
    async def depths_in(self, session: SessionRow, spans: list[Span]) -> list[tuple[int, bool]]:
        """Return the depths that have rows in spans, in order, and whether each is live."""

    @abstractmethod
    async def snapshot(self, session: SessionRow) -> int:
        """Return the number of the newest change that a history has to know of."""


class AsyncRelationalMessages(AsyncRelationalLooks):
    """Work on messages."""

    async def append(self, request: Request) -> Appended:
        """Append a batch."""
        return await append_planned(self._dialect, request)

    async def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path."""
        return await read_path(self._dialect, owner, session, query)

    async def update(
        self,
        owner: str,
        session: str,
        message: Packed,
        expected_tip: str | Root | None,
        extras: Extras,
    ) -> UpdatedMessage:
        """Replace a message's content."""
        dialect = self._dialect
        row = await get_session(dialect, owner, session, Touches.CHANGES)
        await refuse_by_extras(dialect, row, expected_tip, extras)
        refuse_closed(row)
        seen = await find_seen(self._dialect, row, message.id)
        if seen is None or not seen.is_live:
            raise no_message(session, message.id)
        if seen.home != row.home:
            raise edit_inherited(message.id)
        statements = self._dialect.messages
        tokens = await statements.rewrite(row, seen.pos, message)
        await statements.note(row, {seen.pos: message.tokens - tokens}, ChangeKind.UPDATE)
        versions = await write_extras_after(dialect, owner, session, extras)
        changed = (await self._messages_at(row, [seen.pos]))[seen.pos]
        return UpdatedMessage(message=changed, documents=versions)

    async def delete(
        self, owner: str, session: str, ids: Sequence[str], fences: Sequence[Fence]
    ) -> Deleted:
        """Erase messages."""
        row = await get_session(self._dialect, owner, session, Touches.CHANGES)
        await refuse_lost(self._dialect, row, fences)
        seen = await self._dialect.lookup.find_all_seen(row, ids)
        await self._refuse_wrong(row, ids, seen)
        doomed = {id: seen[id] for id in ids if seen[id].is_live}
        if not doomed:
            return Deleted(ids=[], quoting_overlays=[])
        statements = self._dialect.messages
        quoting = await statements.quoting(row, [it.pos for it in doomed.values()])
        kept = await own_data(self._dialect, row, [it.pos for it in doomed.values()])
        held = await statements.erase(row, list(doomed.values()))
        deltas = {it.pos: -held[it.pos] for it in doomed.values()}
        await statements.note(row, deltas, ChangeKind.DELETE)
        data = [public(it.pos) for it in doomed.values() if it.pos in kept]
        return Deleted(ids=list(doomed), quoting_overlays=quoting, data=data)

    async def _refuse_wrong(
        self, row: SessionRow, ids: Sequence[str], seen: dict[str, SeenMessage]
    ) -> None:
        """Refuse the first of the messages that the session does not see, or may not delete."""
        homes = {it.home for it in seen.values() if it.is_live} - {row.home}
        names = await self._dialect.messages.home_names(row, homes) if homes else {}
        for id in ids:
            it = seen.get(id)
            if it is None:
                raise no_message(row.id, id)
            name = names.get(it.home) if it.is_live else None
            if name is not None:
                raise delete_inherited(id, name)
