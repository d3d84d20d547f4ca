"""Connections that only read: a bounded pool, the warmest first. They never wait for the writer."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from ...errors import ClosedError
from .failure import DRIVER_ERRORS, translate, translated
from .unit import SqliteUnit

T = TypeVar("T")


class Readers:
    """A pool of read-only connections."""

    def __init__(self, connect: Callable[[], SqliteUnit], where: str, most: int) -> None:
        self._connect = connect
        self._where = where
        self._free: list[SqliteUnit] = []
        self._room = most
        self._known: set[weakref.ref[SqliteUnit]] = set()
        self._changed = threading.Condition()
        self._is_closed = False

    def read(self, work: Callable[[SqliteUnit], T]) -> T:
        """Run work on one snapshot."""

        def on_snapshot(unit: SqliteUnit) -> T:
            with unit.tx.snapshot():
                return work(unit)

        return self.glance(on_snapshot)

    def glance(self, work: Callable[[SqliteUnit], T]) -> T:
        """Run work whose one statement is its own snapshot."""
        try:
            unit = self._free.pop()
        except IndexError:
            unit = self._take()
        try:
            # An interrupt may have left a snapshot open, which would be read from for ever.
            unit.tx.roll_back()
            return work(unit)
        except DRIVER_ERRORS as error:
            raise translate(error, self._where) from error
        finally:
            self._give_back(unit)

    def _take(self) -> SqliteUnit:
        with self._changed:
            while True:
                if self._is_closed:
                    raise ClosedError(f"{self._where}: the store is closed")
                # Others take one without the lock, so that looking first would be too early.
                with suppress(IndexError):
                    return self._free.pop()
                if self._room:
                    break
                self._changed.wait()
            self._room -= 1
        try:
            with translated(self._where):
                unit = self._connect()
            self._known.add(weakref.ref(unit, self._make_room))
            return unit
        except BaseException:
            with self._changed:
                self._room += 1
                self._changed.notify()
            raise

    def _make_room(self, gone: weakref.ref[SqliteUnit]) -> None:
        """Let another take the place of one that an interrupt took away from its user."""
        with self._changed:
            self._known.discard(gone)
            self._room += 1
            self._changed.notify()

    def _give_back(self, unit: SqliteUnit) -> None:
        self._free.append(unit)
        if self._is_closed:
            self._close_free()
        if not self._room:
            with self._changed:
                self._changed.notify()

    def close(self) -> None:
        """Close the connections that are free; the others follow when they are given back."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._close_free()

    def _close_free(self) -> None:
        while True:
            try:
                unit = self._free.pop()
            except IndexError:
                return
            unit.close()
