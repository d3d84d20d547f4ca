"""Undo and redo: the tip goes back over whole turns, and forward again."""

from __future__ import annotations

import msgspec

from ...errors import NotFoundError, UsageError
from ...model import ROOT, Message, Read, Root, SessionRecord
from ...rules import check
from ...rules.turns import place_before_last_turns, turn_starts
from .stored_session import AsyncStoredSession
from .tree import AsyncTree

KEY = "redo"
FIRST_READ = 50


class _Undone(msgspec.Struct, frozen=True, kw_only=True):
    """Where undo left the tip, and the tips that redo goes back to, the next one last."""

    here: str | None
    tips: list[str]


class AsyncUndo:
    """Takes turns back. What was undone is kept in the session's document `redo`."""

    __slots__ = ("_stored", "_tree")

    def __init__(self, stored: AsyncStoredSession, tree: AsyncTree) -> None:
        self._stored = stored
        self._tree = tree

    async def undo(self, turns: int) -> SessionRecord:
        """Move the tip back before the last turns."""
        check.count(turns, "turns", 1)
        before = await self._stored.record()
        if not isinstance(before.tip, str):
            raise UsageError("there is no turn to undo", path="turns")
        after = await self._tree.checkout(await self._before_last(turns))
        with self._stored.after_a_write("this undo cannot be redone"):
            undone = await self._load()
            tips = undone.tips if undone.here == before.tip else []
            await self._keep(_Undone(here=_name(after.tip), tips=[*tips, before.tip]))
        return after

    async def redo(self) -> SessionRecord:
        """Move the tip to where it was before the last undo."""
        undone = await self._load()
        if not undone.tips or undone.here != _name((await self._stored.record()).tip):
            raise UsageError("there is nothing to redo", path="redo")
        [*rest, tip] = undone.tips
        # A fork has its source's note, but does not see what was undone there.
        try:
            record = await self._tree.checkout(tip)
        except NotFoundError as error:
            if error.kind != "message":
                raise
            raise UsageError("there is nothing to redo", path="redo") from error
        with self._stored.after_a_write("nothing more can be redone"):
            await self._keep(_Undone(here=tip, tips=rest))
        return record

    async def forget(self) -> None:
        """Forget what was undone."""
        await self._stored.delete_document(KEY)

    async def _before_last(self, turns: int) -> Message | Root:
        limit = FIRST_READ
        while True:
            history = await self._stored.read(Read(overlays=False, limit=limit, backwards=True))
            # The first turn of a window that was cut off may have begun above it.
            if not history.more or len(turn_starts(history.messages_only)) > turns:
                index = place_before_last_turns(history.messages_only, turns)
                return ROOT if index is None else history.messages_only[index]
            limit *= 4

    async def _load(self) -> _Undone:
        document = await self._stored.find_document(KEY)
        if document is None:
            return _Undone(here=None, tips=[])
        return msgspec.json.decode(document.value, type=_Undone)

    async def _keep(self, undone: _Undone) -> None:
        await self._stored.put_document(KEY, msgspec.json.encode(undone))


def _name(tip: str | Root) -> str | None:
    return tip if isinstance(tip, str) else None
