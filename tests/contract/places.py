"""Where the state machine opens our stores, and for how long it goes on there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from tier import often

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.testing import ManualClock

STEPS = 30


def as_many(*, usual: int, full: int, steps: int = STEPS) -> settings:
    """Give a machine so many examples; in the full tier each has twice as many steps, too."""
    return settings(max_examples=often(usual, full), stateful_step_count=often(steps, 2 * steps))


def on_a_server(sync: type, on_a_loop: type, *, full: int, steps: int = STEPS) -> None:
    """Let the machines of a server's store try a little; the generated twin's is for the full tier.

    Each step compares all that there is: where that takes requests, few of them are affordable.
    """
    pytest.mark.full(sync)
    for case in (sync, on_a_loop):
        case.settings = as_many(usual=3, full=full, steps=steps)  # type: ignore[attr-defined]


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
