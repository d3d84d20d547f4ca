"""What is sent together: whoever comes while the last sender ends is sent, too."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from sapwood.stores.base.append_request import Request
from sapwood.stores.base.appends import AsyncAppends
from sapwood.stores.recordlog.record_sender import AsyncRecordSender
from sapwood.stores.sqlalchemy.append_queue import AsyncAppendQueue


class Record:
    """As much of a record as is looked at."""

    data = b""


class Said:
    """As much of a message as is looked at."""

    body = b""
    data = None


def made(kind: Any, number: int) -> Any:
    if kind is AsyncRecordSender:
        return Record()
    said: Any = Said()
    return Request("ada", f"chat {number}", [said], None, None)


@pytest.mark.parametrize("kind", [AsyncAppends, AsyncAppendQueue, AsyncRecordSender])
async def test_what_comes_as_the_last_sender_ends_does_not_wait_for_ever(kind: Any) -> None:
    release = asyncio.Event()

    async def send(group: Sequence[object]) -> list[object]:
        await release.wait()
        return list(group)

    gathered = kind(send)
    first = []
    for number in range(kind.most_senders):
        first.append(asyncio.create_task(gathered.add(made(kind, number))))
        for _ in range(3):
            await asyncio.sleep(0)  # each has a sender of its own
    # Woken in this order: all senders, which end, and then the one that comes late.
    release.set()
    late = asyncio.create_task(gathered.add(made(kind, 99)))
    async with asyncio.timeout(30):
        await asyncio.gather(*first, late)


@pytest.mark.parametrize("kind", [AsyncAppends, AsyncAppendQueue])
def test_a_loop_that_ends_before_a_sender_began_comes_to_its_end(kind: Any) -> None:
    sent: list[object] = []
    left: list[asyncio.Task[object]] = []

    async def send(group: Sequence[object]) -> list[object]:
        sent.extend(group)
        return list(group)

    async def leave() -> None:
        left.append(asyncio.create_task(kind(send).add(made(kind, 1))))

    # It cancels what was begun in its last round, a sender that was not yet run, too.
    thread = threading.Thread(target=lambda: asyncio.run(leave()), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert left[0].cancelled()
    assert len(sent) == 1


def test_loops_that_ended_before_a_sender_began_leave_senders_for_others() -> None:
    async def send(group: Sequence[object]) -> list[bool]:
        return [True for _ in group]

    gathered = AsyncRecordSender(send)
    left: list[asyncio.Task[bool]] = []

    async def leave() -> None:
        left.append(asyncio.create_task(gathered.add(made(AsyncRecordSender, 1))))

    async def stay() -> bool:
        async with asyncio.timeout(30):
            return await gathered.add(made(AsyncRecordSender, 2))

    for _ in range(AsyncRecordSender.most_senders):
        asyncio.run(leave())
    assert all(task.cancelled() for task in left)
    assert asyncio.run(stay())
