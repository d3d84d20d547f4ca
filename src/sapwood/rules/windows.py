"""How much a model reads at once, by the beginning of its name. This is the only such table."""

from __future__ import annotations

import re

WINDOWS: dict[str, int] = {
    "claude": 200_000,
    "claude-2.0": 100_000,
    "claude-instant": 100_000,
    "codestral": 32_000,
    "command-a": 256_000,
    "command-r": 128_000,
    "deepseek": 64_000,
    "gemini": 1_048_576,
    "gemini-1.0": 32_760,
    "gemini-pro": 32_760,
    "gemma-2": 8_192,
    "gemma-3": 128_000,
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-0125": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-4o": 128_000,
    "gpt-5": 400_000,
    "gpt-5-chat": 128_000,
    "gpt-oss": 131_072,
    "grok": 131_072,
    "grok-4": 256_000,
    "kimi-k2": 131_072,
    "llama-3": 8_192,
    "llama-3.1": 131_072,
    "llama-3.2": 131_072,
    "llama-3.3": 131_072,
    "mistral": 32_000,
    "mistral-large": 128_000,
    "mistral-medium": 128_000,
    "mistral-small": 32_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "qwen2.5": 32_768,
    "qwen3": 32_768,
}
"""In tokens, as the vendors document them; of several under one name the smallest."""

_LONGEST_FIRST = sorted(WINDOWS, key=len, reverse=True)
# It may stand after other names, as in "openrouter/openai/gpt-5" and "us.anthropic.claude-3".
_BEFORE = r"(?:^|.*[/.])"
_NAME = re.compile(
    rf"{_BEFORE}(?P<name>{'|'.join(map(re.escape, _LONGEST_FIRST))})(?![a-z0-9])",
    re.IGNORECASE | re.DOTALL,
)


def window_of(model: str | None) -> int | None:
    """Return how many tokens a model reads at once; None for a model that is not in the table."""
    found = _NAME.match(model) if model else None
    return WINDOWS[found["name"].lower()] if found else None
