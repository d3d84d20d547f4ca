"""What stands in for data at positions in a store that does not declare it."""

from __future__ import annotations

from ....errors import UnsupportedOperationError
from ....model import DataVersion, Position


def no_data() -> UnsupportedOperationError:
    """Return the error for what needs data at positions."""
    return UnsupportedOperationError("this store keeps no data at positions: use another")


class AsyncNoData:
    """Refuses all work on data; the facade does so before."""

    async def versions(
        self, owner: str, session: str, position: Position, most: int
    ) -> list[DataVersion]:
        """Refuse."""
        raise no_data()

    async def erase(self, owner: str, session: str, field: str) -> int:
        """Refuse."""
        raise no_data()
