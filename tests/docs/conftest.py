"""An endpoint for the examples that ask a model, where the vendors' packages look for one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from endpoint import Endpoint


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture(autouse=True)
def asked_here(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.root)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
