"""A connection that does not wait for ever, nor for what is there already."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from ..patience import waited_for


class AsyncPatientConnection(AsyncConnection[Any]):
    """A connection that gives up when the server keeps silent for too long."""

    answer_within_s: float | None = None

    async def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Carry out an operation of the driver."""
        steps = waited_for(gen, self.pgconn.socket, self.answer_within_s)
        return await super().wait(steps, *args, **options)
