"""Summaries by OpenAI, by any endpoint that speaks its protocol, and by Anthropic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from json import JSONDecodeError
from typing import Any, ClassVar, Self

from ...compaction.function import SummaryAnswer
from ...errors import CompactionError, UsageError
from ..sdk import ClientSettings, check_settings, client_of, load_sdk
from ..vendor_answers import limit_name, summary_of_completion, summary_of_message

# The protocol wants a limit. More than a good summary needs, and within what every model can do.
DEFAULT_MAX_TOKENS = 8_192


class AsyncSdkSummarizer(ABC):
    """Asks a model, through its vendor's SDK, for a summary. A context manager."""

    extra: ClassVar[str]
    client_class: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        client: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60,
        max_retries: int = 2,
        max_tokens: int | None = None,
        system: str | None = None,
    ) -> None:
        settings = ClientSettings(
            base_url=base_url, api_key=api_key, timeout_s=timeout_s, max_retries=max_retries
        )
        check_settings(model, settings, max_tokens)
        kind = getattr(load_sdk(self.extra), self.client_class)
        self._client = client_of(client, kind, settings)
        self._is_ours = client is None
        self._model = model
        self._max_tokens = max_tokens
        self._system = system

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._model!r} at {self._client.base_url}>"

    async def __call__(self, prompt: str) -> SummaryAnswer:
        """Ask for a summary; every call asks the model once more.

        The SDK's errors come through as they are, after its own retries. An answer that holds no
        summary, or only the beginning of one, is a `CompactionError` that says what came.
        """
        if not isinstance(prompt, str) or not prompt.strip():
            raise UsageError("the prompt must be text that says something", path="prompt")
        try:
            return await self._ask(prompt)
        except JSONDecodeError as error:
            raise CompactionError(f"the answer of {self._model!r} is no JSON: {error}") from error

    @abstractmethod
    async def _ask(self, prompt: str) -> SummaryAnswer:
        """Send the prompt, and read what the SDK made of the answer."""

    async def aclose(self) -> None:
        """Close the connections; those of a client that was given stay open."""
        if self._is_ours:
            await self._client.close()

    async def __aenter__(self) -> Self:
        """Return the summariser itself."""
        return self

    async def __aexit__(self, *details: object) -> None:
        """Close the connections."""
        await self.aclose()


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
