"""A limit to how long a server may keep silent."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import TypeVar

import psycopg

T = TypeVar("T")


class NoAnswerError(psycopg.OperationalError):
    """The server did not answer in time; the connection is of no use any more."""


def within(steps: Generator[int, int, T], seconds: float) -> Generator[int, int, T]:
    """Go through the steps of a driver's operation, and give up when it takes too long.

    The driver looks in from time to time while nothing comes, and then says that nothing is ready.
    """
    end = monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and monotonic() >= end:
                raise NoAnswerError(f"the server did not answer within {seconds:g} seconds")
            wanted = steps.send(ready)
    except StopIteration as done:
        found: T = done.value
        return found
