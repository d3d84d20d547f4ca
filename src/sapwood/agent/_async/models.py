"""Models of the vendors, over their SDKs' clients."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...calls import AsyncCall
from ...formats import input_to_anthropic, input_to_openai_chat, input_to_openai_responses
from ...model import ModelInput
from ..settings import SdkModel

OUTPUT = "answer"
DEFAULT_MAX_TOKENS = 8_192
"""Anthropic's protocol wants a limit."""


class AsyncOpenAIChat(SdkModel):
    """A model of OpenAI's chat completions, or of any endpoint that speaks their protocol.

    `options` go into each request, as `temperature` or `reasoning_effort`.
    """

    async def __call__(self, given: ModelInput) -> Any:
        """Ask the model; return its stream."""
        asked = {**input_to_openai_chat(given), "model": self.name, "stream": True}
        create = self._client.chat.completions.create
        return await AsyncCall.within(None, partial(create, **asked, **self._options))

    def _defaults(self) -> dict[str, Any]:
        return {"stream_options": {"include_usage": True}}

    def with_output(self, schema: dict[str, Any]) -> AsyncOpenAIChat:
        """Return a model whose answers fit a schema."""
        named = {"name": OUTPUT, "schema": schema, "strict": True}
        model: AsyncOpenAIChat = self._with(
            response_format={"type": "json_schema", "json_schema": named}
        )
        return model


class AsyncOpenAIResponses(SdkModel):
    """A model of OpenAI's responses. Nothing is kept at OpenAI, unless you give `store=True`."""

    async def __call__(self, given: ModelInput) -> Any:
        """Ask the model; return its stream."""
        asked = {**input_to_openai_responses(given), "model": self.name, "stream": True}
        create = self._client.responses.create
        return await AsyncCall.within(None, partial(create, **asked, **self._options))

    def _defaults(self) -> dict[str, Any]:
        # What it thought comes back encrypted, and is sent again in the next step.
        return {"store": False, "include": ["reasoning.encrypted_content"]}

    def with_output(self, schema: dict[str, Any]) -> AsyncOpenAIResponses:
        """Return a model whose answers fit a schema."""
        named = {"type": "json_schema", "name": OUTPUT, "schema": schema, "strict": True}
        model: AsyncOpenAIResponses = self._with(text={"format": named})
        return model


class AsyncAnthropicMessages(SdkModel):
    """A model of Anthropic's messages. Without `max_tokens` an answer has up to 8192."""

    async def __call__(self, given: ModelInput) -> Any:
        """Ask the model; return its stream."""
        asked = {**input_to_anthropic(given), "model": self.name, "stream": True}
        create = self._client.messages.create
        return await AsyncCall.within(None, partial(create, **asked, **self._options))

    def _defaults(self) -> dict[str, Any]:
        return {"max_tokens": DEFAULT_MAX_TOKENS}

    def with_output(self, schema: dict[str, Any]) -> AsyncAnthropicMessages:
        """Return a model whose answers fit a schema."""
        before = self._options.get("output_config", {})
        model: AsyncAnthropicMessages = self._with(
            output_config={**before, "format": {"type": "json_schema", "schema": schema}}
        )
        return model
