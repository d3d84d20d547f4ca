"""Work on messages, by session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import Appended, Deleted, Gap, History, Leaf, Message, Position, Read, Root
from ....rules.codec import Packed
from ...base.appends import Request
from ...base.refusals import no_message
from ..entries import message_of, name_of, split_entry
from ..history import history_of, read_arguments
from ..place_words import place_words
from .append_planned import append_planned
from .context import AsyncRedisContext
from .edits import delete_messages, update_message
from .path_end import AsyncPathEnds, is_end
from .whole_path import AsyncWholePaths, is_whole


class AsyncRedisMessages:
    """Work on messages."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self._context = context
        self._path_ends = AsyncPathEnds(context)
        self._whole_paths = AsyncWholePaths(context, self._path_ends)

    async def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended:
        """Append what is new of a batch."""
        request = Request(owner, session, batch, parent, expected_tip)
        return await append_planned(self._context, request)

    async def update(self, owner: str, session: str, message: Packed) -> Message:
        """Replace a message's content."""
        return await update_message(self._context, owner, session, message)

    async def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        """Erase messages."""
        return await delete_messages(self._context, owner, session, ids)

    async def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        """Find messages that a session sees."""
        look = await self._context.directory.look(owner, session, ids)
        return [
            None
            if place is None
            else message_of(place.entry, str(place.segment), place.depth, place.session)
            for place in look.places
        ]

    async def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path as it is shown, in one round trip where it was read before."""
        directory = self._context.directory
        tree = directory.known_tree(owner, session)
        if tree is not None:
            history = await self._path_ends.read(tree, session, query)
            if history is None and is_whole(query):
                history = await self._whole_paths.read(tree, session, query)
            if history is not None:
                return history
        tree, answer = await directory.run_script(
            owner, session, "read_path", *read_arguments(query)
        )
        if answer[0] == b"none":
            raise no_message(session, str(query.leaf))
        history = history_of(answer, session, query)
        if is_end(query):
            self._path_ends.remember(tree, session, query, answer[9])
            self._whole_paths.try_again(tree, session, query, answer[9])
        return history

    async def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List the live messages right after a message."""
        words = place_words(message)
        directory = self._context.directory
        _, answer = await directory.run_script(owner, session, "children", *words)
        if answer[0] == b"none":
            raise no_message(session, str(message))
        found = [_message(it) for it in answer[1]]
        return [it for it in found if it is not None]

    async def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""
        _, answer = await self._context.directory.run_script(owner, session, "gaps", leaf, after)
        if answer[0] == b"none":
            raise no_message(session, leaf)
        return [
            Gap(
                id=split_entry(entry)[0].id,
                position=Position(str(segment), depth),
                home=name_of(home),
            )
            for segment, depth, home, entry in reversed(answer[1])
        ]

    async def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""
        _, (_, ends) = await self._context.directory.run_script(owner, session, "leaves")
        return [
            Leaf(
                id=split_entry(entry)[0].id,
                position=Position(str(segment), depth),
                message=_message((segment, depth, home, entry)),
            )
            for segment, depth, home, entry in ends
        ]


def _message(found: Sequence[Any]) -> Message | None:
    segment, depth, home, entry = found
    return message_of(entry, str(segment), depth, name_of(home))
