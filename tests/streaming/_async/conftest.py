from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import openai
import pytest
from endpoint import Endpoint

from sapwood.calls import AsyncAnswer

Ask = Callable[[], AsyncAnswer[Any]]

VENDORS = ("openai_chat", "openai_responses", "anthropic")


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["raw", "helper"])
def way(request: pytest.FixtureRequest) -> str:
    """What the SDK is asked for: its stream, or the manager of its helper."""
    return request.param


@pytest.fixture
async def ask(vendor: str, way: str, endpoint: Endpoint) -> AsyncIterator[Ask]:
    root = endpoint.root if vendor == "anthropic" else endpoint.url
    kind: Any = anthropic.AsyncAnthropic if vendor == "anthropic" else openai.AsyncOpenAI
    given: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}]}
    async with kind(base_url=root, api_key="a-key", max_retries=0) as client:
        if vendor == "anthropic":
            create, given = client.messages, {**given, "max_tokens": 100}
        elif vendor == "openai_chat":
            create = client.chat.completions
        else:
            create, given = client.responses, {"input": "Hello"}

        async def ask() -> Any:
            if way == "helper":
                return create.stream(model="small", **given)
            return await create.create(model="small", **given, stream=True)

        yield ask
