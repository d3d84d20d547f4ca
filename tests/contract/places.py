"""Where the state machine opens our stores."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.testing import ManualClock


class InMemory:
    def __init__(self, kind: Callable[..., Store | AsyncStore], clock: ManualClock) -> None:
        self._kind = kind
        self._clock = clock

    def open(self) -> Store | AsyncStore:
        return self._kind(clock=self._clock, new_id=IdMaker(self._clock, os.urandom))

    def discard(self) -> None:
        """Leave nothing: there is nothing."""


class InAFile:
    def __init__(self, kind: Callable[..., Store | AsyncStore], clock: ManualClock) -> None:
        self._kind = kind
        self._clock = clock
        self._folder = Path(tempfile.mkdtemp(prefix="sapwood-machine-"))

    def open(self) -> Store | AsyncStore:
        path = self._folder / "s.db"
        return self._kind(path, clock=self._clock, new_id=IdMaker(self._clock, os.urandom))

    def discard(self) -> None:
        shutil.rmtree(self._folder)
