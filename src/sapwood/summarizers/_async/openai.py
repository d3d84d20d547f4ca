"""Summaries by OpenAI, or by any endpoint that speaks its protocol."""

from __future__ import annotations

from typing import Any, ClassVar

from ...compaction.function import SummaryAnswer
from ..vendor_answers import limit_name, summary_of_completion
from .base import AsyncSdkSummarizer


class AsyncOpenAISummarizer(AsyncSdkSummarizer):
    """Asks a model for a summary by a chat completion, through the package `openai`.

    `base_url` leads to another endpoint with the same protocol. A `client` of the SDK may be given
    instead of `base_url` and `api_key`. `timeout_s` and `max_retries` hold in either case.
    """

    extra: ClassVar[str] = "openai"
    client_class: ClassVar[str] = "AsyncOpenAI"

    async def _ask(self, prompt: str) -> SummaryAnswer:
        messages = [{"role": "user", "content": prompt}]
        if self._system is not None:
            messages.insert(0, {"role": "system", "content": self._system})
        request: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._max_tokens is not None:
            request[limit_name(self._client.base_url.host)] = self._max_tokens
        answer = await self._client.chat.completions.create(**request)
        return summary_of_completion(answer, self._model)
