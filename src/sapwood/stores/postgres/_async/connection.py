"""A connection that does not wait for ever."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from ..deadline import within


class AsyncPatientConnection(AsyncConnection[Any]):
    """A connection that gives up when the server keeps silent for too long."""

    answer_within_s: float | None = None

    async def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Carry out an operation of the driver."""
        if self.answer_within_s is not None:
            gen = within(gen, self.answer_within_s)
        return await super().wait(gen, *args, **options)
