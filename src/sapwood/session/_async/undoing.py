"""Undo and redo: the tip goes back over whole turns, and forward again."""

from __future__ import annotations

import msgspec

from ...errors import NotFoundError, UsageError
from ...model import ROOT, Message, Read, Root, SessionRecord
from ...rules import check
from ...rules.turns import place_before_last_turns, turn_starts
from .tree import AsyncTree

KEY = "redo"
FIRST_READ = 50


class _Undone(msgspec.Struct, frozen=True, kw_only=True):
    """Where undo left the tip, and the tips that redo goes back to, the next one last."""

    here: str | None
    tips: list[str]


class AsyncUndoing(AsyncTree):
    """The part of a session that takes turns back."""

    async def undo(self, turns: int = 1) -> SessionRecord:
        """Move the tip back before the last turns; nothing is deleted.

        A turn begins at a user message. `UsageError` when there are not so many.
        """
        check.count(turns, "turns", 1)
        before = await self.record()
        if not isinstance(before.tip, str):
            raise UsageError("there is no turn to undo", path="turns")
        place = await self._before_last(turns)
        after = await self.checkout(place)
        with self._after_a_write("this undo cannot be redone"):
            undone = await self._undone()
            tips = undone.tips if undone.here == before.tip else []
            await self._keep(_Undone(here=_name(after.tip), tips=[*tips, before.tip]))
        return after

    async def _forget_the_past(self) -> None:
        await super()._forget_the_past()
        await self._store.delete_document(self._owner, KEY, session=self._id)

    async def redo(self) -> SessionRecord:
        """Move the tip to where it was before the last undo, once for each undo.

        `UsageError` when the tip was moved since then, or nothing was undone.
        """
        undone = await self._undone()
        if not undone.tips or undone.here != _name((await self.record()).tip):
            raise UsageError("there is nothing to redo", path="redo")
        [*rest, tip] = undone.tips
        # A fork has its source's note, but does not see what was undone there.
        try:
            record = await self.checkout(tip)
        except NotFoundError as error:
            if error.kind != "message":
                raise
            raise UsageError("there is nothing to redo", path="redo") from error
        with self._after_a_write("nothing more can be redone"):
            await self._keep(_Undone(here=tip, tips=rest))
        return record

    async def _before_last(self, turns: int) -> Message | Root:
        limit = FIRST_READ
        while True:
            query = Read(overlays=False, limit=limit, backwards=True)
            history = await self._store.read(self._owner, self._id, query)
            # The first turn of a window that was cut off may have begun above it.
            if not history.more or len(turn_starts(history.messages)) > turns:
                index = place_before_last_turns(history.messages, turns)
                return ROOT if index is None else history.messages[index]
            limit *= 4

    async def _undone(self) -> _Undone:
        document = await self._store.find_document(self._owner, KEY, session=self._id)
        if document is None:
            return _Undone(here=None, tips=[])
        return msgspec.json.decode(document.value, type=_Undone)

    async def _keep(self, undone: _Undone) -> None:
        value = msgspec.json.encode(undone)
        await self._store.put_document(self._owner, KEY, value, session=self._id)


def _name(tip: str | Root) -> str | None:
    return tip if isinstance(tip, str) else None
