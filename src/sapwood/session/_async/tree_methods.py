"""The methods of a session that move it about in its tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from ...calls import AsyncCall
from ...errors import NotFoundError, StaleTipError, UsageError
from ...model import ROOT, History, Leaf, Message, Read, Root, SessionRecord
from ...rules import check
from ...rules.append_plan import refuse_stale_tip
from ...rules.turns import is_said_by_user, place_before_last_turns, turn_starts
from ..content import Content, new_message
from ..references import MessageRef, PlaceRef, check_place, id_of
from .session_base import AsyncSessionBase
from .stored_session import AsyncStoredSession

PAGE = 50
REDO_KEY = "redo"


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """The document `redo`: where undo left the tip, and the tips to go back to, the next one last.

    No tip is `ROOT`.
    """

    here: str | None = None
    tips: list[str] = []


@AsyncCall.reminding
class AsyncTreeMethods(AsyncSessionBase):
    """What a session does with its tip and its branches."""

    async def tip(self) -> str | Root:
        """Return the id of the message that the next append follows, or `ROOT`."""
        return (await self._stored.record()).tip

    async def path_length(self, leaf: PlaceRef | None = None) -> int:
        """Count the places on the path to the tip, or to `leaf`; deleted messages keep theirs."""
        if leaf is None:
            position = (await self._stored.record()).tip_position
            return 0 if position is None else position.depth
        check_place(leaf, "leaf")
        return 0 if isinstance(leaf, Root) else (await self._stored.get_message(id_of(leaf))).depth

    async def checkout(
        self, place: PlaceRef, *, expected_tip: PlaceRef | None = None
    ) -> SessionRecord:
        """Move the tip to a message, or to `ROOT`; nothing is deleted.

        With `expected_tip`, only from there: `StaleTipError` when somebody appended meanwhile.
        """
        stored = self._stored
        self._pairs.forget()
        return await stored.store.checkout(
            stored.owner, stored.id, id_of(place), expected_tip=id_of(expected_tip)
        )

    async def children(self, place: PlaceRef = ROOT) -> list[Message]:
        """List the messages right after a message; more than one means that it branches there."""
        stored = self._stored
        return await stored.store.list_children(stored.owner, stored.id, id_of(place))

    async def branches(self) -> list[Leaf]:
        """List the ends of all branches."""
        return await self._stored.store.list_leaves(self._stored.owner, self._stored.id)

    async def retry_from(self, answer: MessageRef | None = None) -> Message:
        """Go back to the message that an answer answers, so that the next append is another one.

        Without a message it is the last answer on the path to the tip. The old answer stays, on a
        branch of its own. Return the message that is to be answered. `StaleTipError` when somebody
        appended meanwhile.
        """
        tip = (await self._stored.record()).tip
        found = await _question_before(self._stored, tip, None if answer is None else id_of(answer))
        await self.checkout(found.place, expected_tip=tip)
        return found.asked

    async def edit(
        self, message: MessageRef, content: Content, *, id: str | None = None
    ) -> Message:
        """Write a message anew, on a branch beside the old one; the tip moves to the new one."""
        old = await self._stored.get_message(id_of(message))
        above = await self._stored.get_parent(old.id)
        new = new_message(old.role, content, self._setup.counter, id=id, name=old.name)
        self._pairs.forget()
        return (await self._append(await self._cleaned([new]), above, None)).messages[0]

    async def pop(self, *, expected_tip: PlaceRef | None = None) -> SessionRecord:
        """Move the tip to the place that it follows, also on what a fork inherited.

        With `expected_tip`, to the place that this follows; marks that follow it are taken back
        with it. Nothing is deleted. `UsageError` when there is nothing left, `StaleTipError` when
        the tip is not the expected one, or somebody appended meanwhile.
        """
        record = await self._stored.record()
        tip = record.tip if expected_tip is None else id_of(expected_tip)
        if not isinstance(tip, str):
            refuse_stale_tip(record.tip, ROOT)
            raise UsageError("there is no message to take back", path="pop")
        with _gone_if_cleared(tip):
            above = await self._stored.get_parent(tip)
        return await self.checkout(above, expected_tip=tip)

    async def undo(self, turns: int = 1) -> SessionRecord:
        """Move the tip back before the last turns; nothing is deleted.

        A turn begins at a user message. `UsageError` when there are not so many, `StaleTipError`
        when somebody appended meanwhile.
        """
        check.count(turns, "turns", 1)
        stored = self._stored
        before = await stored.record()
        if not isinstance(before.tip, str):
            raise UsageError("there is no turn to undo", path="turns")
        place = await _place_before(stored, before.tip, turns)
        after = await self.checkout(place, expected_tip=before.tip)
        with stored.after_a_write("this undo cannot be redone"):
            undone = await stored.load_document(REDO_KEY, Undone)
            tips = undone.tips if undone.here == before.tip else []
            undone = Undone(here=_name(after.tip), tips=[*tips, before.tip])
            await stored.put_document(REDO_KEY, msgspec.json.encode(undone))
        return after

    async def redo(self) -> SessionRecord:
        """Move the tip to where it was before the last undo, once for each undo.

        `UsageError` when the tip was moved since then, or nothing was undone.
        """
        stored = self._stored
        undone = await stored.load_document(REDO_KEY, Undone)
        if not undone.tips:
            raise UsageError("there is nothing to redo", path="redo")
        [*rest, tip] = undone.tips
        here = ROOT if undone.here is None else undone.here
        # A fork has its source's note, but does not see what was undone there.
        try:
            record = await self.checkout(tip, expected_tip=here)
        except (StaleTipError, NotFoundError) as error:
            if isinstance(error, NotFoundError) and error.kind != "message":
                raise
            raise UsageError("there is nothing to redo", path="redo") from error
        with stored.after_a_write("nothing more can be redone"):
            undone = Undone(here=tip, tips=rest)
            await stored.put_document(REDO_KEY, msgspec.json.encode(undone))
        return record


class _Question(NamedTuple):
    """A user's message, and the place that another answer follows: a mark may be in between."""

    asked: Message
    place: PlaceRef


async def _question_before(
    stored: AsyncStoredSession, tip: str | Root, answer: str | None
) -> _Question:
    """Return the last user message before an answer, or on the path to the tip."""
    leaf, before = _name(tip) if answer is None else answer, None
    below: Message | None = None
    while leaf is not None:
        query = Read(leaf=leaf, overlays=False, limit=PAGE, before=before, backwards=True)
        history = await _read_from(stored, tip, query)
        for message in reversed(history.messages_only):
            if message.id != answer and is_said_by_user(message):
                if history.data_at is None or below is None:
                    return _Question(message, message)
                return _Question(message, await stored.get_parent(below.id))
            below = message
        if not history.more:
            break
        before = history.entries[0].depth
    raise UsageError("there is no user message before that answer", path="answer")


async def _read_from(stored: AsyncStoredSession, tip: str | Root, query: Read) -> History:
    with _gone_if_cleared(tip):
        return await stored.read(query)


@contextmanager
def _gone_if_cleared(tip: str | Root) -> Iterator[None]:
    """Tell of a tip that is not found as stale: its caller has not named it."""
    try:
        yield
    except NotFoundError as error:
        if error.id != tip:
            raise
        raise StaleTipError("the session was cleared meanwhile: read it again") from error


async def _place_before(stored: AsyncStoredSession, tip: str, turns: int) -> PlaceRef:
    limit = PAGE
    while True:
        query = Read(leaf=tip, overlays=False, limit=limit, backwards=True)
        history = await _read_from(stored, tip, query)
        # The first turn of a window that was cut off may have begun above it.
        if not history.more or len(turn_starts(history.messages_only)) > turns:
            index = place_before_last_turns(history.messages_only, turns)
            if history.data_at is not None:
                # What a mark set since stays with the turn before, and is not undone with this one.
                first = history.messages_only[0 if index is None else index + 1]
                return await stored.get_parent(first.id)
            return ROOT if index is None else history.messages_only[index]
        limit *= 4


def _name(tip: str | Root) -> str | None:
    return tip if isinstance(tip, str) else None
