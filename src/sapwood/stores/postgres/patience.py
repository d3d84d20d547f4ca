"""How the steps of a driver's operation are waited for."""

from __future__ import annotations

import select
from collections.abc import Callable, Generator
from math import inf
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.waiting import READY_R, WAIT_R

T = TypeVar("T")

READS_AT_ONCE = 16
"""After about a quarter of a megabyte the others on an event loop have their turn."""


class NoAnswerError(psycopg.OperationalError):
    """The server did not answer in time; the connection is of no use any more."""


def waited_for(
    steps: Generator[Any, Any, T], fileno: int, within_s: float | None
) -> Generator[Any, Any, T]:
    """Go through the steps: at once while there is something to read, and not for ever.

    The driver would hand itself to the event loop, and back, for every few kilobytes: of a long
    history that is half of the time that it takes. While nothing comes it looks in from time to
    time, and then says that nothing is ready.
    """
    end = inf if within_s is None else monotonic() + within_s
    is_there = _look(fileno)
    left = READS_AT_ONCE
    try:
        wanted = next(steps)
        while True:
            if wanted == WAIT_R and left and is_there():
                left -= 1
                ready = READY_R
            else:
                left = READS_AT_ONCE
                ready = yield wanted
                if not ready and monotonic() >= end:
                    raise NoAnswerError(f"the server did not answer within {within_s:g} seconds")
            wanted = steps.send(ready)
    except StopIteration as done:
        found: T = done.value
        return found


def _look(fileno: int) -> Callable[[], object]:
    """Return what tells whether there is something to read; always no where none can be had."""
    if not hasattr(select, "poll"):  # on Windows
        return lambda: False
    there = select.poll()
    there.register(fileno, select.POLLIN)
    return lambda: there.poll(0)
