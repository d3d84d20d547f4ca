"""A plain stream, used by a session on an event loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sapwood.session.streaming import AsyncStreams


async def test_a_plain_generator_does_not_hold_up_the_loop() -> None:
    threads: list[threading.Thread] = []

    def items() -> Iterator[int]:
        threads.append(threading.current_thread())
        yield 1
        yield 2

    assert list(await AsyncStreams.begin(items())) == [1, 2]
    assert threads != [threading.main_thread()]


async def test_a_plain_context_manager_is_entered_once() -> None:
    entered: list[threading.Thread] = []

    @contextmanager
    def manager() -> Iterator[str]:
        entered.append(threading.current_thread())
        yield "stream"
        entered.append(threading.current_thread())

    with await AsyncStreams.begin(manager()) as stream:
        assert stream == "stream"
        assert len(entered) == 1
        assert entered != [threading.main_thread()]
    assert len(entered) == 2
