"""Summaries by Anthropic's models."""

from __future__ import annotations

from typing import Any, ClassVar

from ...compaction.function import SummaryAnswer
from ..vendor_answers import summary_of_message
from .base import AsyncSdkSummarizer

# The protocol wants a limit. More than a good summary needs, and within what every model can do.
DEFAULT_MAX_TOKENS = 8_192


class AsyncAnthropicSummarizer(AsyncSdkSummarizer):
    """Asks a model for a summary by a message, through the package `anthropic`.

    A `client` of the SDK may be given instead of `base_url` and `api_key`. `timeout_s` and
    `max_retries` hold in either case. Without `max_tokens` the limit is 8192.
    """

    extra: ClassVar[str] = "anthropic"
    client_class: ClassVar[str] = "AsyncAnthropic"

    async def _ask(self, prompt: str) -> SummaryAnswer:
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._max_tokens or DEFAULT_MAX_TOKENS,
            "messages": [{"role": "user", "content": prompt}],
        }
        if self._system is not None:
            request["system"] = self._system
        return summary_of_message(await self._client.messages.create(**request), self._model)
