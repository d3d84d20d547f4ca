"""A session in its tree: the tip, branches and forks."""

from __future__ import annotations

from ...errors import UsageError
from ...model import (
    ROOT,
    Leaf,
    Message,
    Read,
    Root,
    SessionRecord,
)
from ...rules.turns import is_said_by_user
from ..content import Content
from ..naming import MessageRef, Place, check_place, id_of
from .messages import AsyncMessages


class AsyncTree(AsyncMessages):
    """The part of a session that moves about in its tree."""

    async def tip(self) -> str | Root:
        """Give the id of the message that the next append follows, or `ROOT`."""
        return (await self.record()).tip

    async def latest_leaf(self) -> Message | None:
        """Give the message at the tip; None when there is none, or it was deleted."""
        tip = await self.tip()
        return await self.find(tip) if isinstance(tip, str) else None

    async def path_length(self, leaf: Place | None = None) -> int:
        """Count the places on the path to the tip, or to `leaf`; deleted messages keep theirs."""
        if leaf is None:
            position = (await self.record()).tip_position
            return 0 if position is None else position.depth
        check_place(leaf, "leaf")
        return 0 if isinstance(leaf, Root) else (await self.get(id_of(leaf))).depth

    async def checkout(self, place: Place) -> SessionRecord:
        """Move the tip to a message, or to `ROOT`; nothing is deleted."""
        return await self._store.checkout(self._owner, self._id, id_of(place))

    async def children(self, place: Place = ROOT) -> list[Message]:
        """List the messages right after a message; more than one means that it branches there."""
        return await self._store.list_children(self._owner, self._id, id_of(place))

    async def branches(self) -> list[Leaf]:
        """List the ends of all branches."""
        return await self._store.list_leaves(self._owner, self._id)

    async def regenerate(self, answer: MessageRef | None = None) -> Message:
        """Go back to the message that an answer answers, so that the next append is another one.

        Without a message it is the last answer on the path to the tip. The old answer stays, on a
        branch of its own. Give back the message that is to be answered.
        """
        leaf = None if answer is None else id_of(answer)
        asked = await self._question_before(leaf)
        await self.checkout(asked)
        return asked

    async def _question_before(self, leaf: str | None) -> Message:
        before: int | None = None
        while True:
            query = Read(leaf=leaf, overlays=False, limit=50, before=before, backwards=True)
            history = await self._store.read(self._owner, self._id, query)
            for message in reversed(history.messages):
                if message.id != leaf and is_said_by_user(message):
                    return message
            if not history.more:
                raise UsageError("there is no user message before that answer", path="answer")
            before = history.entries[0].depth

    async def edit(
        self, message: MessageRef, content: Content, *, id: str | None = None
    ) -> Message:
        """Say a message anew, on a branch beside the old one; the tip moves to the new one."""
        old = await self.get(id_of(message))
        query = Read(leaf=old.id, overlays=False, limit=1, before=old.depth, backwards=True)
        above = (await self._store.read(self._owner, self._id, query)).messages
        return await self.append(old.role, content, id=id, parent=above[-1] if above else ROOT)
