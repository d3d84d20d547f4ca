"""Summarisers over the vendors' own SDKs; each is an extra.

An SDK is imported when the first of its summarisers is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.vendors import AsyncAnthropicSummarizer, AsyncOpenAISummarizer
    from ._sync.vendors import AnthropicSummarizer, OpenAISummarizer

__all__ = [
    "AnthropicSummarizer",
    "AsyncAnthropicSummarizer",
    "AsyncOpenAISummarizer",
    "OpenAISummarizer",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ..lazy_names import lazy_names

    __getattr__ = lazy_names(
        __name__,
        {
            "AnthropicSummarizer": "._sync.vendors",
            "AsyncAnthropicSummarizer": "._async.vendors",
            "AsyncOpenAISummarizer": "._async.vendors",
            "OpenAISummarizer": "._sync.vendors",
        },
    )


def __dir__() -> list[str]:
    return sorted(__all__)
