"""The methods of a session that move it about in its tree."""

from __future__ import annotations

from ...model import ROOT, Leaf, Message, Root, SessionRecord
from ..content import Content
from ..references import MessageRef, PlaceRef
from .stored_session import AsyncStoredSession
from .tree import AsyncTree
from .undo import AsyncUndo


class AsyncTreeMethods:
    """What a session does with its tip and its branches."""

    _stored: AsyncStoredSession
    _tree: AsyncTree
    _undo: AsyncUndo

    async def tip(self) -> str | Root:
        """Give the id of the message that the next append follows, or `ROOT`."""
        return (await self._stored.record()).tip

    async def path_length(self, leaf: PlaceRef | None = None) -> int:
        """Count the places on the path to the tip, or to `leaf`; deleted messages keep theirs."""
        return await self._tree.path_length(leaf)

    async def checkout(self, place: PlaceRef) -> SessionRecord:
        """Move the tip to a message, or to `ROOT`; nothing is deleted."""
        return await self._tree.checkout(place)

    async def children(self, place: PlaceRef = ROOT) -> list[Message]:
        """List the messages right after a message; more than one means that it branches there."""
        return await self._tree.children(place)

    async def branches(self) -> list[Leaf]:
        """List the ends of all branches."""
        return await self._tree.branches()

    async def retry_from(self, answer: MessageRef | None = None) -> Message:
        """Go back to the message that an answer answers, so that the next append is another one.

        Without a message it is the last answer on the path to the tip. The old answer stays, on a
        branch of its own. Give back the message that is to be answered.
        """
        return await self._tree.retry_from(answer)

    async def edit(
        self, message: MessageRef, content: Content, *, id: str | None = None
    ) -> Message:
        """Say a message anew, on a branch beside the old one; the tip moves to the new one."""
        return await self._tree.edit(message, content, id)

    async def undo(self, turns: int = 1) -> SessionRecord:
        """Move the tip back before the last turns; nothing is deleted.

        A turn begins at a user message. `UsageError` when there are not so many.
        """
        return await self._undo.undo(turns)

    async def redo(self) -> SessionRecord:
        """Move the tip to where it was before the last undo, once for each undo.

        `UsageError` when the tip was moved since then, or nothing was undone.
        """
        return await self._undo.redo()
