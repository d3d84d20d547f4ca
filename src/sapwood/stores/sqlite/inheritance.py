"""What a forked process inherits of SQLite, and why it closes that at once.

SQLite keeps account, in its process, of the locks that the process has on a file. A child inherits
the account and not the locks: it would write to a file that it has not locked, and its parent would
remove the log under it. So a fork waits until no thread is inside SQLite, and the child closes what
it inherited without touching a file. What it opens after that is its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import Any, Protocol

import apsw

from ...errors import StoreError

FORK_PATIENCE_S = 5.0
LOOK_EVERY_S = 0.001

OPENING = threading.Lock()
"""Held while a connection is made, so that none is inherited that nobody knows of."""
INDEXING = threading.Lock()
"""Held by whoever brings an index up to date, from one of its transactions to the next."""


class Inheritable(Protocol):
    """What uses connections, and is of no use in a child."""

    def writing(self) -> threading.RLock:
        """Return the lock that whoever writes holds."""
        ...

    def disown(self) -> None:
        """Refuse all further work: this process is a fork of the one that opened the file."""
        ...


class _Fork(threading.local):
    """A fork that a thread is about to make."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.is_calm = True


_connections: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
_users: weakref.WeakSet[Inheritable] = weakref.WeakSet()
_carried_over: list[Inheritable] = []
_refusal: str | None = None
_fork = _Fork()


def connect(path: str, **options: Any) -> apsw.Connection:
    """Open a connection, which a child would close."""
    if _refusal is not None:
        raise StoreError(f"{path} cannot be opened: {_refusal}")
    with OPENING:
        raw = apsw.Connection(path, **options)
        _connections.add(raw)
    return raw


def disown_at_fork(user: Inheritable) -> None:
    """Let a child's copy of something refuse all work."""
    _users.add(user)


def _come_to_rest() -> None:
    """Let those who write finish, keep others from beginning, and wait for those who read."""
    deadline = time.monotonic() + FORK_PATIENCE_S
    # The last one is taken by threads that have one of the others.
    locks: list[Any] = [*(user.writing() for user in list(_users)), INDEXING, OPENING]
    _fork.held = [
        lock for lock in locks if lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    ]
    _fork.is_calm = len(_fork.held) == len(locks) and _is_calm_by(deadline)


def _is_calm_by(deadline: float) -> bool:
    while not all(_is_calm(raw) for raw in list(_connections)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _is_calm(raw: apsw.Connection) -> bool:
    """Whether no thread is inside, and nothing is half written."""
    try:
        return raw.readonly("main") or not raw.in_transaction
    except apsw.ConnectionClosedError:
        return True
    except apsw.ThreadingViolationError:
        return False


def _go_on() -> None:
    # Only what was got: the others are still held by their threads.
    while _fork.held:
        _fork.held.pop().release()


def _begin_anew() -> None:
    _go_on()
    for lock in (OPENING, INDEXING):
        # Whoever held it is not in this process.
        with contextlib.suppress(RuntimeError):
            lock.release()
    # Kept, since what is collected would wait for locks of threads that are not here.
    _carried_over.extend(_users)
    for user in _carried_over:
        user.disown()
    _close_inherited()


def _close_inherited() -> None:
    global _refusal
    # One that cannot be let go is as bad as all: it stays in SQLite's account of the process.
    is_clear = not _connections or (_fork.is_calm and all(map(_is_let_go, list(_connections))))
    _connections.clear()
    if not is_clear:
        _refusal = (
            "this process was forked while another thread was inside SQLite, which it cannot know "
            "the end of: fork when no call is under way, or start the process by spawn"
        )


def _is_let_go(raw: apsw.Connection) -> bool:
    """Close a connection without copying its log back; return whether that was possible."""
    try:
        raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        raw.close(True)
    except apsw.ConnectionClosedError:
        return True
    except apsw.Error:
        return False
    return True


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_come_to_rest, after_in_parent=_go_on, after_in_child=_begin_anew)
