"""Ctrl-C at a time when nothing is half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back, and give a function that lets it through: call it between writes.

    A second Ctrl-C does not wait.
    """
    wanted = False

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal wanted
        if wanted:
            raise KeyboardInterrupt
        wanted = True

    def let_through() -> None:
        if wanted:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield let_through
        return
    before = signal.signal(signal.SIGINT, hold)
    try:
        yield let_through
        let_through()
    finally:
        signal.signal(signal.SIGINT, before)
