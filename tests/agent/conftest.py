"""A local endpoint, and nothing in the environment that an SDK would read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint

from .vendors import VENDORS


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def meet() -> Callable[[], str]:
    """Give a function that returns once two are in it."""
    both = threading.Barrier(2, timeout=20)

    def meet() -> str:
        """Wait for the other one."""
        both.wait()
        return "met"

    return meet
