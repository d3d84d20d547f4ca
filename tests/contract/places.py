"""Where the state machine opens our stores, and for how long it goes on there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import settings

from sapwood.rules.ids import IdMaker
from sapwood.store import AsyncStore, Store
from sapwood.testing import ManualClock

USUAL = 30
"""How many examples the default profile has, and how many steps each."""


def as_many(*, examples: int = USUAL, steps: int = USUAL) -> settings:
    """Give so many examples with the default profile, and as many more as another one has.

    Each step compares all that there is: where that takes requests, few of them are affordable.
    """
    profile = settings.default
    assert profile is not None
    return settings(
        max_examples=profile.max_examples * examples // USUAL,
        stateful_step_count=profile.stateful_step_count * steps // USUAL,
    )


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
