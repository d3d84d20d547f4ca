"""Work on messages, by session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...model import Appended, Deleted, Gap, History, Leaf, Message, Read, Root
from ...rules.codec import Packed
from ..base._sync.unit import Messages
from .appending import append
from .editing import delete, update
from .lookup import find_place, following, get_place, get_session, message_at
from .reading import gaps, leaves, read
from .state import State


class MemoryMessages(Messages):
    """Work on messages."""

    def __init__(self, state: State) -> None:
        self._state = state

    def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended:
        row = get_session(self._state, owner, session)
        return append(self._state, row, batch, parent, expected_tip)

    def update(self, owner: str, session: str, message: Packed) -> Message:
        place = update(self._state, get_session(self._state, owner, session), message)
        return cast(Message, message_at(self._state, place))

    def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        return delete(self._state, get_session(self._state, owner, session), ids)

    def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        row = get_session(self._state, owner, session)
        places = [find_place(self._state, row, id) for id in ids]
        return [None if place is None else message_at(self._state, place) for place in places]

    def read(self, owner: str, session: str, query: Read) -> History:
        return read(self._state, get_session(self._state, owner, session), query)

    def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        row = get_session(self._state, owner, session)
        places = following(self._state, row, get_place(self._state, row, message))
        found = [message_at(self._state, place) for place in places]
        return [child for child in found if child is not None]

    def leaves(self, owner: str, session: str) -> list[Leaf]:
        return leaves(self._state, get_session(self._state, owner, session))

    def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        return gaps(self._state, get_session(self._state, owner, session), leaf, after)
