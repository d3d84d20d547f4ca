from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import openai
import pytest
from endpoint import Endpoint

import sapwood
from sapwood.agent import AsyncAnthropicMessages, AsyncOpenAIChat, AsyncOpenAIResponses

MODELS: dict[str, Any] = {
    "openai_chat": AsyncOpenAIChat,
    "openai_responses": AsyncOpenAIResponses,
    "anthropic": AsyncAnthropicMessages,
}


@pytest.fixture
async def model(vendor: str, endpoint: Endpoint) -> AsyncIterator[Any]:
    root = endpoint.root if vendor == "anthropic" else endpoint.url
    kind: Any = anthropic.AsyncAnthropic if vendor == "anthropic" else openai.AsyncOpenAI
    async with kind(base_url=root, api_key="a-key", max_retries=0) as client:
        yield MODELS[vendor](client, "small")


@pytest.fixture
async def sessions() -> AsyncIterator[sapwood.AsyncSessionManager]:
    async with sapwood.open_async("memory://", owner="ada") as manager:
        yield manager


@pytest.fixture
async def chat(sessions: sapwood.AsyncSessionManager) -> sapwood.AsyncSession:
    return await sessions.session("chat")
