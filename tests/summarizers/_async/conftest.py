from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from endpoint import Endpoint

from sapwood.summarizers import AsyncAnthropicSummarizer, AsyncOpenAISummarizer

from ..protocols import PROTOCOLS, Protocol

KINDS = {"openai": AsyncOpenAISummarizer, "anthropic": AsyncAnthropicSummarizer}
Make = Callable[..., Any]


@pytest.fixture(params=PROTOCOLS, ids=lambda it: it.name)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return request.param


@pytest.fixture
async def make(protocol: Protocol, endpoint: Endpoint) -> AsyncIterator[Make]:
    made = []

    def make(**settings: Any) -> Any:
        where = {"base_url": protocol.address(endpoint), "api_key": "a-key"}
        made.append(KINDS[protocol.name]("small", **{**where, **settings}))
        return made[-1]

    yield make
    for summarizer in made:
        await summarizer.aclose()
