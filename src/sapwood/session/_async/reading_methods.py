"""The methods of a session that an inbox asks for: its last message, and what is unread."""

from __future__ import annotations

from ...calls import AsyncCall
from ...model import Preview, ReadMark
from ...rules.recent import preview_of
from ...store._async.reading import count_unread, get_recent, mark_read
from ..references import PlaceRef, check_place
from .session_base import AsyncSessionBase


@AsyncCall.reminding
class AsyncReadingMethods(AsyncSessionBase):
    """What has been said last, and how far each user has read."""

    async def preview(self) -> Preview | None:
        """Return the last message on the path to the tip, in a few words; None of none.

        It is the nearest with text or a file among the last four that are not of the role "tool",
        also under a summary. Deleted messages are passed over.
        """
        stored = self._stored
        return preview_of((await get_recent(stored.store, stored.owner, stored.id)).messages)

    async def mark_read(
        self, user: str | None = None, upto: PlaceRef | None = None, *, back: bool = False
    ) -> ReadMark | None:
        """Note that a user has read down to the tip, or to `upto`; return the mark that holds.

        The user is the owner, unless named. A mark that reaches no further down the path to the tip
        than the one that is there is ignored, so that a late one does no harm; with `back`, it
        holds, and at `ROOT` nothing has been read. Forks begin without marks, and a clear takes
        them.
        """
        if upto is not None:
            check_place(upto, "upto")
        stored = self._stored
        name = stored.owner if user is None else user
        return await mark_read(stored.store, stored.owner, stored.id, name, upto=upto, back=back)

    async def unread(self, user: str | None = None) -> int:
        """Count the messages on the path to the tip that a user, or the owner, has not read.

        After a move to another branch it is those below where the two part. Of the last 32 places
        those without a message are not counted; above them each place counts.
        """
        stored = self._stored
        name = stored.owner if user is None else user
        recent = await get_recent(stored.store, stored.owner, stored.id, user=name)
        return await count_unread(stored.store, stored.owner, stored.id, recent)
