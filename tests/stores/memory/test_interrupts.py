"""An interrupt at any moment of a write finds all of it done, or nothing."""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from tier import often

from sapwood.model import ROOT, ForkPoint, NewSession, Read
from sapwood.stores.memory import MemoryStore

from .acts import OWNER, Clock, append, cover, new

_LOOKS = ("CALL", "JUMP_BACKWARD", "FOR_ITER", "SEND", "RESUME")
"""Beside and after these, CPython lets a handler of signals run."""


_IS_OURS = re.compile("/stores/(memory|recordlog)/")


class _Interrupter:
    """Interrupts a call at one of the moments at which a signal can."""

    def __init__(self, moment: int) -> None:
        self._left = moment
        self._last: dict[FrameType, str] = {}

    def run(self, call: Callable[[], object]) -> bool:
        """Tell whether the call was interrupted."""
        sys.settrace(self._trace)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if not _IS_OURS.search(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        # What closes a generator stands on no line, and no handler runs there.
        if event == "opcode" and frame.f_lineno is not None:
            self._look(frame)
        return self._trace

    def _look(self, frame: FrameType) -> None:
        last = self._last.get(frame, "RESUME")
        self._last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if last.startswith(_LOOKS):
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt


def _interrupted(
    write: Callable[[MemoryStore], object], prepare: Callable[[MemoryStore], object]
) -> Iterator[MemoryStore]:
    """Give a store for moments at which a write can be interrupted, after that."""
    # Python 3.12 tells of opcodes from the second traced call on only.
    _Interrupter(sys.maxsize).run(lambda: None)
    moment, interrupted = 0, True
    while interrupted:
        ids = iter(f"new-{number}" for number in range(100))
        store = MemoryStore(clock=Clock(), new_id=lambda ids=ids: next(ids))  # type: ignore[misc]
        store.create_session(OWNER, NewSession(id="a"))
        prepare(store)
        interrupted = _Interrupter(moment).run(lambda store=store: write(store))  # type: ignore[misc]
        yield store
        moment += often(7, 1)
    assert moment > 20


def _seen(store: MemoryStore) -> object:
    """Give all that can be read of a sound store."""
    store.finish_deletions()
    assert store.admin.check() == []
    sessions = [row for id in ("a", "b") if (row := store.find_session(OWNER, id))]
    told = [(change.session, change.message) for change in store.changes(OWNER).changes]
    return [
        (row.id, row.tip, row.messages, row.context_tokens, _ids(store, row.id), told)
        for row in sessions
    ]


def _ids(store: MemoryStore, session: str) -> list[str]:
    history = store.read(OWNER, session, Read(overlays=False))
    return [entry.id for entry in history.entries]  # type: ignore[union-attr]


def _assert_all_or_nothing(
    write: Callable[[MemoryStore], object], prepare: Callable[[MemoryStore], object]
) -> None:
    states = [_seen(store) for store in _interrupted(write, prepare)]
    first, last = states[0], states[-1]
    assert first != last
    assert all(state in (first, last) for state in states)


def test_a_batch_after_the_tip_is_written_whole_or_not_at_all() -> None:
    _assert_all_or_nothing(lambda it: append(it, "m2 m3 m4"), lambda it: append(it, "m1"))


def test_a_first_batch_is_written_whole_or_not_at_all() -> None:
    _assert_all_or_nothing(lambda it: append(it, "m1 m2 m3"), lambda it: None)


def test_a_branch_is_written_whole_or_not_at_all() -> None:
    def prepare(store: MemoryStore) -> None:
        append(store, "m1 m2 m3")
        cover(store, "m1", "m2", id="o")

    _assert_all_or_nothing(lambda it: append(it, "n1 n2", parent="m2"), prepare)


def test_a_retry_after_an_interrupt_writes_what_is_missing() -> None:
    batch = [new("m2"), new("m3"), new("m4")]
    for store in _interrupted(lambda it: it.append(OWNER, "a", batch), lambda it: append(it, "m1")):
        store.append(OWNER, "a", batch)
        assert _ids(store, "a") == ["m1", "m2", "m3", "m4"]


def test_a_fork_is_made_whole_or_not_at_all() -> None:
    def prepare(store: MemoryStore) -> None:
        append(store, "m1 m2 m3")
        cover(store, "m1", "m2", id="o")
        store.put_document(OWNER, "notes", b"kept", session="a")

    for detach in (False, True):
        point = ForkPoint(session="a", message="m3", detach=detach)
        session = NewSession(id="b", fork=point)
        _assert_all_or_nothing(lambda it, new=session: it.create_session(OWNER, new), prepare)  # type: ignore[misc]


def test_a_session_begins_anew_at_the_root_after_an_interrupted_batch() -> None:
    for store in _interrupted(lambda it: append(it, "m1 m2", parent=ROOT), lambda it: None):
        append(store, "n1", parent=ROOT)
        assert _ids(store, "a") == ["n1"]
        store.finish_deletions()
        assert store.admin.check() == []
