"""A session in its tree: the tip and the branches."""

from __future__ import annotations

from ...errors import UsageError
from ...model import ROOT, Leaf, Message, Read, Root, SessionRecord
from ...rules.turns import is_said_by_user
from ..builder import Setup
from ..content import Content, new_message
from ..references import MessageRef, PlaceRef, check_place, id_of
from .messages import AsyncMessageWriter
from .stored_session import AsyncStoredSession

PAGE = 50


class AsyncTree:
    """Moves a session about in its tree."""

    __slots__ = ("_messages", "_setup", "_stored")

    def __init__(
        self, stored: AsyncStoredSession, setup: Setup, messages: AsyncMessageWriter
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._messages = messages

    async def path_length(self, leaf: PlaceRef | None) -> int:
        """Count the places on the path to the tip, or to `leaf`."""
        if leaf is None:
            position = (await self._stored.record()).tip_position
            return 0 if position is None else position.depth
        check_place(leaf, "leaf")
        return 0 if isinstance(leaf, Root) else (await self._stored.get_message(id_of(leaf))).depth

    async def checkout(self, place: PlaceRef) -> SessionRecord:
        """Move the tip to a message, or to `ROOT`."""
        stored = self._stored
        return await stored.store.checkout(stored.owner, stored.id, id_of(place))

    async def children(self, place: PlaceRef) -> list[Message]:
        """List the messages right after a message."""
        stored = self._stored
        return await stored.store.list_children(stored.owner, stored.id, id_of(place))

    async def branches(self) -> list[Leaf]:
        """List the ends of all branches."""
        return await self._stored.store.list_leaves(self._stored.owner, self._stored.id)

    async def retry_from(self, answer: MessageRef | None) -> Message:
        """Move the tip to the message that an answer answers, and return that message."""
        asked = await self._question_before(None if answer is None else id_of(answer))
        await self.checkout(asked)
        return asked

    async def _question_before(self, leaf: str | None) -> Message:
        before: int | None = None
        while True:
            query = Read(leaf=leaf, overlays=False, limit=PAGE, before=before, backwards=True)
            history = await self._stored.read(query)
            for message in reversed(history.messages_only):
                if message.id != leaf and is_said_by_user(message):
                    return message
            if not history.more:
                raise UsageError("there is no user message before that answer", path="answer")
            before = history.entries[0].depth

    async def edit(self, message: MessageRef, content: Content, id: str | None) -> Message:
        """Append a message anew, on a branch beside the old one."""
        old = await self._stored.get_message(id_of(message))
        query = Read(leaf=old.id, overlays=False, limit=1, before=old.depth, backwards=True)
        above = (await self._stored.read(query)).messages_only
        new = new_message(old.role, content, self._setup.counter, id=id)
        appended = await self._messages.append([new], above[-1] if above else ROOT, None)
        return appended.messages[0]
