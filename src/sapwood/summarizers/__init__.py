"""Summarisers over the vendors' own SDKs; each is an extra.

An SDK is imported when the first of its summarisers is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.anthropic import AsyncAnthropicSummarizer
    from ._async.openai import AsyncOpenAISummarizer
    from ._sync.anthropic import AnthropicSummarizer
    from ._sync.openai import OpenAISummarizer

__all__ = [
    "AnthropicSummarizer",
    "AsyncAnthropicSummarizer",
    "AsyncOpenAISummarizer",
    "OpenAISummarizer",
]

_HOMES = {
    "AnthropicSummarizer": "._sync.anthropic",
    "AsyncAnthropicSummarizer": "._async.anthropic",
    "AsyncOpenAISummarizer": "._async.openai",
    "OpenAISummarizer": "._sync.openai",
}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
