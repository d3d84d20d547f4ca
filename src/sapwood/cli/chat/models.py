"""Who answers in a chat: a model, by the protocol that its endpoint speaks, or the stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ...agent import AnthropicMessages, OfflineModel
from ...compaction.function import Summarize
from ...formats import input_to_openai_chat
from ...model import ModelInput
from ...summarizers import AnthropicSummarizer, OpenAISummarizer
from ...summarizers.sdk import ClientSettings, client_of, load_sdk

RETRIES = 2


class ChatModel(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who answers: `ask` begins the stream of an answer.

    `label` is what people are told about who it is. Without `summarize` it writes no summaries.
    """

    name: str
    label: str
    ask: Callable[[ModelInput], Any]
    summarize: Summarize | None = None
    close: Callable[[], None] = lambda: None


def endpoint_model(provider: str, name: str, settings: ClientSettings) -> ChatModel:
    """Return a model behind an endpoint that speaks a vendor's protocol."""
    is_claude = provider == "anthropic"
    sdk = load_sdk(provider)
    client: Any = client_of(None, sdk.Anthropic if is_claude else sdk.OpenAI, settings)
    kind = AnthropicSummarizer if is_claude else OpenAISummarizer

    def ask_openai(given: ModelInput) -> Any:
        # What another model thought is not told to this one. Not every server takes a cache's key.
        has_cache = settings.base_url is None
        request = input_to_openai_chat(given, reasoning="omit", cache=has_cache)
        usage = {"include_usage": True}
        create = client.chat.completions.create
        return create(model=name, stream=True, stream_options=usage, **request)

    return ChatModel(
        name=name,
        label=f"{name} at {client.base_url}",
        ask=AnthropicMessages(client, name) if is_claude else ask_openai,
        # The agent tries again by itself; who writes summaries does not.
        summarize=kind(name, client=client, timeout_s=settings.timeout_s, max_retries=RETRIES),
        close=client.close,
    )


def offline_model(pause_s: float) -> ChatModel:
    """Return the stand-in."""
    label = "no model: an offline stand-in answers, which only counts, repeats and searches"
    return ChatModel(name=OfflineModel.name, label=label, ask=OfflineModel(pause_s))
