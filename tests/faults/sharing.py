"""Two clients that write to one session at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from tier import often

from sapwood.errors import StaleTipError
from sapwood.model import NewMessage, NewSession, Read, TextPart

ADA = "ada"
ROUNDS = often(6, 20)


def write_together(one: Any, two: Any) -> None:
    """Let two clients contend for a session, and see one order of what both wrote.

    In each round they write at the same moment, and once more when both are there: a message that
    is to stand right after its writer's own. Of these one does, and the other is refused.
    """
    one.create_session(ADA, NewSession(id="shared"))
    both = threading.Barrier(2, timeout=60)
    too_late: list[str] = []

    def write(store: Any, name: str) -> None:
        try:
            for n in range(ROUNDS):
                both.wait()
                store.append(ADA, "shared", [_say(f"{name}{n}")])
                both.wait()
                if not _follow(store, f"{name}{n}", f"{name}x{n}"):
                    too_late.append(f"{name}x{n}")
        except BaseException:
            both.abort()
            raise

    with ThreadPoolExecutor(2) as threads:
        done = [threads.submit(write, *it) for it in ((one, "a"), (two, "b"))]
    errors = [it.exception() for it in done]
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    assert errors == [None, None]
    found = _ids_in(one)
    assert found == _ids_in(two)
    assert not set(found) & set(too_late)
    assert sorted(int(id[2:]) for id in too_late) == list(range(ROUNDS))
    assert len(found) == len(set(found)) == 3 * ROUNDS
    for name in "ab":
        blind = [id for id in found if id[0] == name and id[1] != "x"]
        assert blind == [f"{name}{n}" for n in range(ROUNDS)]
    for before, after in pairwise(["", *found]):
        if after[1] == "x":
            assert before == after.replace("x", "")
    assert one.admin.check() == []


def _follow(store: Any, first: str, second: str) -> bool:
    """Append right after a message; tell whether it was still the last one."""
    try:
        store.append(ADA, "shared", [_say(second)], expected_tip=first)
    except StaleTipError:
        return False
    return True


def _say(id: str) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=id)])


def _ids_in(store: Any) -> list[str]:
    return [it.id for it in store.read(ADA, "shared", Read()).messages_only]
