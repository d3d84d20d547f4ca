"""Appends that wait for their turn are all sent, whoever is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sapwood.model import NewMessage, TextPart
from sapwood.rules.codec import MAX_MESSAGE_BYTES, pack
from sapwood.stores.base.append_request import Request
from sapwood.stores.base.appends import Appends, _Waiting


class Guard:
    """A lock that does something as soon as it is released."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.after: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *details: object) -> None:
        self._lock.release()
        if self.after:
            self.after.pop()()


def waiting(id: str) -> _Waiting:
    message = NewMessage(id=id, role="user", parts=[TextPart(text=id)])
    packed = pack(message, lambda: id, MAX_MESSAGE_BYTES)
    return _Waiting(Request("ada", "s", [packed], None, None))


def test_a_thread_interrupted_as_its_turn_comes_still_sends_for_the_others() -> None:
    sent: list[str] = []

    def send(requests: Any) -> Any:
        sent.extend(request.batch[0].id for request in requests)
        return [None] * len(requests)

    appends = Appends(send)
    guard: Any = Guard()
    appends._guard, appends._senders = guard, 1
    first, second = waiting("m1"), waiting("m2")
    appends._waiting = [first, second]
    guard.after.append(lambda: appends._give_up(first))
    appends._pass_on()
    assert sent == ["m1", "m2"]
    assert second.turn.acquire(False)
    assert appends._senders == 0
