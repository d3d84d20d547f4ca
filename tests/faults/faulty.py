"""A disk that can be told to fail: a VFS whose writes and syncs wait or raise on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw


class FaultyVfs(apsw.VFS):
    """The default VFS with a switch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._failing: dict[str, int] = {}
        self._gate = threading.Event()
        self._gate.set()
        self.is_waiting = threading.Event()
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> FaultyFile:  # noqa: N802
        return FaultyFile(name, flags, self)

    @contextmanager
    def failing(self, code: int, *operations: str) -> Iterator[None]:
        """Let operations ("read", "write", "sync", "truncate") fail with SQLite's code."""
        self._failing = dict.fromkeys(operations, code)
        try:
            yield
        finally:
            self._failing = {}

    def hold_next_sync(self) -> None:
        """Let the next sync wait until `let_go`."""
        self.is_waiting.clear()
        self._gate.clear()

    def let_go(self) -> None:
        self._gate.set()

    def pass_by(self, operation: str) -> None:
        """Go through the switch with an operation that is under way."""
        code = self._failing.get(operation)
        if code is not None:
            raise apsw.exception_for(code)
        if operation == "sync" and not self._gate.is_set():
            self.is_waiting.set()
            self._gate.wait(60)


class FaultyFile(apsw.VFSFile):
    """A file behind the switch."""

    def __init__(self, name: Any, flags: list[int], vfs: FaultyVfs) -> None:
        super().__init__("", name, flags)
        self._vfs = vfs

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._vfs.pass_by("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.pass_by("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.pass_by("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._vfs.pass_by("truncate")
        super().xTruncate(newsize)
