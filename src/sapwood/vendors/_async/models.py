"""Models of the vendors, over their SDKs' clients."""

from __future__ import annotations

from typing import Any, Self

from ...calls import AsyncCall
from ...formats import input_to_anthropic, input_to_openai_chat, input_to_openai_responses
from ...model import ModelInput
from ..sdk_model import SdkModel

OUTPUT = "answer"
DEFAULT_MAX_TOKENS = 8_192
"""Anthropic's protocol wants a limit."""


class AsyncOpenAIChat(SdkModel):
    """A model of OpenAI's chat completions, or of any endpoint that speaks their protocol.

    `options` go into each request, as `temperature` or `reasoning_effort`.
    """

    awaits = AsyncCall.awaits
    method = "chat.completions.create"

    async def __call__(self, given: ModelInput) -> Any:
        """Ask the model; return its stream."""
        return await AsyncCall.now(self._asking(input_to_openai_chat(given)))

    def _defaults(self) -> dict[str, Any]:
        return {"stream_options": {"include_usage": True}}

    def with_output(self, schema: dict[str, Any]) -> Self:
        """Return a model whose answers fit a schema."""
        named = {"name": OUTPUT, "schema": schema, "strict": True}
        return self._with(response_format={"type": "json_schema", "json_schema": named})


class AsyncOpenAIResponses(SdkModel):
    """A model of OpenAI's responses. Nothing is kept at OpenAI, unless you give `store=True`."""

    awaits = AsyncCall.awaits
    method = "responses.create"

    async def __call__(self, given: ModelInput) -> Any:
        """Ask the model; return its stream."""
        return await AsyncCall.now(self._asking(input_to_openai_responses(given)))

    def _defaults(self) -> dict[str, Any]:
        # What it thought comes back encrypted, and is sent again in the next step.
        return {"store": False, "include": ["reasoning.encrypted_content"]}

    def with_output(self, schema: dict[str, Any]) -> Self:
        """Return a model whose answers fit a schema."""
        named = {"type": "json_schema", "name": OUTPUT, "schema": schema, "strict": True}
        return self._with(text={"format": named})


class AsyncAnthropicMessages(SdkModel):
    """A model of Anthropic's messages. Without `max_tokens` an answer has up to 8192."""

    awaits = AsyncCall.awaits
    method = "messages.create"

    async def __call__(self, given: ModelInput) -> Any:
        """Ask the model; return its stream."""
        return await AsyncCall.now(self._asking(input_to_anthropic(given)))

    def _defaults(self) -> dict[str, Any]:
        return {"max_tokens": DEFAULT_MAX_TOKENS}

    def with_output(self, schema: dict[str, Any]) -> Self:
        """Return a model whose answers fit a schema."""
        format = {"type": "json_schema", "schema": schema}
        return self._with(
            output_config={**self._options.get("output_config", {}), "format": format}
        )
