"""Two clients that write to one session at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from sapwood.errors import StaleTipError
from sapwood.model import NewMessage, NewSession, Read, TextPart

ADA = "ada"
ROUNDS = 20


def write_together(one: Any, two: Any) -> int:
    """Let two clients contend for a session, and see one order; tell how many were too late.

    Each writes a message, then one that is to stand right after it: it does, or it is refused.
    """
    one.create_session(ADA, NewSession(id="shared"))
    begin = threading.Barrier(2)

    def write(store: Any, name: str) -> int:
        begin.wait()
        return sum(_write_two(store, name, n) for n in range(ROUNDS))

    with ThreadPoolExecutor(2) as threads:
        too_late = sum(threads.map(write, (one, two), "ab"))
    found = _ids_in(one)
    assert found == _ids_in(two)
    assert len(found) == len(set(found)) == 4 * ROUNDS - too_late
    for name in "ab":
        blind = [id for id in found if id[0] == name and id[1] != "x"]
        assert blind == [f"{name}{n}" for n in range(ROUNDS)]
    for before, after in pairwise(["", *found]):
        if after[1] == "x":
            assert before == after.replace("x", "")
    _see_that_they_met(found)
    assert one.admin.check() == []
    return too_late


def _write_two(store: Any, name: str, n: int) -> bool:
    store.append(ADA, "shared", [_say(f"{name}{n}")])
    try:
        store.append(ADA, "shared", [_say(f"{name}x{n}")], expected_tip=f"{name}{n}")
    except StaleTipError:
        return True
    return False


def _see_that_they_met(found: list[str]) -> None:
    """See that neither waited until the other was done."""
    changes = sum(before[0] != after[0] for before, after in pairwise(found))
    assert changes > 1, "they wrote one after the other"


def _say(id: str) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=id)])


def _ids_in(store: Any) -> list[str]:
    return [it.id for it in store.read(ADA, "shared", Read()).messages]
