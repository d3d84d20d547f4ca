"""The calls of the contract that are about data at positions.

A session's data belongs to the place in the tree: it is what the nearest version at or above the
position says. So moving the tip, an edit on a branch of its own and a fork see that of their place.
A version is a whole value, a JSON object. It comes with an append, for the position of the last
message, or by a mark: a position without a message.

A store that does not declare DATA raises `UnsupportedOperationError` for these calls, for an append
with `data` or `expected_data`, and for a clear that is to keep it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...model import DataVersion, Position


class AsyncDataCalls(ABC):
    """What a session keeps for the places in its tree."""

    @abstractmethod
    async def read_data(self, owner: str, session: str, position: Position) -> DataVersion | None:
        """Return the nearest version at or above a position; None when there is none.

        Raises `NotFoundError` for a position that the session does not see.
        """

    @abstractmethod
    async def list_data(
        self, owner: str, session: str, position: Position, *, limit: int = 100
    ) -> list[DataVersion]:
        """List the versions at and above a position, the newest first.

        It goes on at the `previous` of the last one. Raises `NotFoundError` as `read_data` does.
        """

    @abstractmethod
    async def erase_data(self, owner: str, session: str, field: str) -> int:
        """Take a field out of every version that the session sees, on all its branches.

        Erased as messages are. Return how many versions had it. What a fork inherited is erased for
        all who see it. A repeated append is compared with what is left.
        """
