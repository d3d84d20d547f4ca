"""A tool's result answers a call: those that answer none are refused."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import NotFoundError, UsageError
from ...model import Message, NewMessage, Read, Root, ToolCallPart, ToolResultPart
from ..references import PlaceRef, id_of
from .stored_session import AsyncStoredSession

PAGE = 50
MOST_REMEMBERED = 1_000
ORPHANS = "an importer stores it with allow_orphans=True"


class AsyncCallPairs:
    """The calls of a session that are unanswered, as far as it made them itself.

    A result for another call costs a look at the path, from its end up to the call.
    """

    __slots__ = ("_open", "_stored")

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored
        # By the call's id: in the order in which they were made, so that the oldest is forgotten.
        self._open: dict[str, None] = {}

    async def check(self, messages: Sequence[NewMessage], parent: PlaceRef | None) -> None:
        """Refuse results without an unanswered call in the batch, or before it."""
        wanted = self._without_call(messages, {} if parent is not None else self._open)
        if not wanted:
            return
        found = await self._look_up(set(wanted), parent)
        for call_id, message in wanted.items():
            if found.get(call_id) or await self._is_known(message):
                continue
            if call_id in found:
                text = f"call {call_id!r} is answered already: change its result with update"
            else:
                text = f"no call {call_id!r} was made before this result of it"
            raise UsageError(f"{text} ({ORPHANS})", path="content")

    def _without_call(
        self, messages: Sequence[NewMessage], known: dict[str, None]
    ) -> dict[str, NewMessage]:
        """Return the results whose call is not known, by the call's id."""
        made: set[str] = set()
        answered: set[str] = set()
        wanted: dict[str, NewMessage] = {}
        for message in messages:
            calls = {part.call_id for part in message.parts if isinstance(part, ToolCallPart)}
            made |= calls
            answered -= calls
            results = [part for part in message.parts if isinstance(part, ToolResultPart)]
            if message.role == "tool" and not results:
                raise UsageError(
                    "a tool's message holds results: give ToolResultPart(call_id=..., output=...) "
                    f"({ORPHANS})",
                    path="content",
                )
            for part in results:
                if part.call_id in answered or not (part.call_id in made or part.call_id in known):
                    wanted[part.call_id] = message
                answered.add(part.call_id)
        return wanted

    async def _look_up(self, ids: set[str], parent: PlaceRef | None) -> dict[str, bool]:
        """Find calls on the path, from its end: whether each is still unanswered."""
        found: dict[str, bool] = {}
        answered: set[str] = set()
        leaf, before, more = id_of(parent), None, not isinstance(parent, Root)
        while more and len(found) < len(ids):
            query = Read(leaf=leaf, overlays=False, limit=PAGE, before=before, backwards=True)
            try:
                history = await self._stored.read(query)
            except NotFoundError:
                break  # a session that this write creates; else the write itself says so
            for message in reversed(history.messages_only):
                for part in message.parts:
                    if isinstance(part, ToolResultPart):
                        answered.add(part.call_id)
                for part in message.parts:
                    if isinstance(part, ToolCallPart) and part.call_id in ids:
                        found.setdefault(part.call_id, part.call_id not in answered)
            leaf, more = history.leaf, history.more
            before = history.entries[0].depth if history.entries else None
        return found

    async def _is_known(self, message: NewMessage) -> bool:
        """Whether it is stored already: a retry is answered by the store."""
        return message.id is not None and await self._stored.find_message(message.id) is not None

    def note(self, messages: Sequence[Message]) -> None:
        """Remember what stored messages called, and what they answered."""
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    self._open[part.call_id] = None
                elif isinstance(part, ToolResultPart):
                    self._open.pop(part.call_id, None)
        while len(self._open) > MOST_REMEMBERED:
            self._open.pop(next(iter(self._open), ""), None)

    def forget(self) -> None:
        """Forget all: the tip was moved, and what was called may be on another branch."""
        self._open.clear()
