"""Windows and prices of models, by the beginning of their names. This is the only such table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

from ..errors import UsageError
from ..model import Usage
from .tokens import MAX_TOKENS

_Price = Annotated[float, msgspec.Meta(ge=0)] | None


class KnownModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many tokens a model reads at once, and what it costs, in dollars for a million tokens.

    A price of None is not known. `cached` is that of input which the vendor's cache held; without
    one it costs what other input does.
    """

    window: Annotated[int, msgspec.Meta(ge=1, le=MAX_TOKENS)] | None = None
    input: _Price = None
    cached: _Price = None
    output: _Price = None


def _priced(window: int, input: float, cached: float, output: float) -> KnownModel:
    return KnownModel(window=window, input=input, cached=cached, output=output)


_K, _M = 1_000, 1_000_000
_PRICES = {
    "claude-fable-5": _priced(_M, 10, 1, 50),
    "claude-fable-5-1": _priced(_M, 10, 0.25, 50),
    "claude-haiku-4-5": _priced(200 * _K, 1, 0.1, 5),
    "claude-haiku-5-5": _priced(_M, 0.1, 0.01, 0.5),
    "claude-opus-4-5": _priced(200 * _K, 5, 0.5, 25),
    "claude-opus-5": _priced(_M, 5, 0.5, 25),
    "claude-opus-5-5": _priced(_M, 4, 0.2, 20),
    "claude-sonnet-4-5": _priced(200 * _K, 3, 0.3, 15),
    "claude-sonnet-5": _priced(_M, 2, 0.2, 10),
    "claude-sonnet-5-5": _priced(_M, 2, 0.1, 10),
    "gpt-4.1": _priced(1_047_576, 2, 0.5, 8),
    "gpt-4o": _priced(128 * _K, 2.5, 1.25, 10),
    "gpt-4o-mini": _priced(128 * _K, 0.15, 0.075, 0.6),
    "gpt-5": _priced(400 * _K, 1.25, 0.125, 10),
    "gpt-5-mini": _priced(400 * _K, 0.25, 0.025, 2),
    "gpt-5-nano": _priced(400 * _K, 0.05, 0.005, 0.4),
    "gpt-5.1": _priced(400 * _K, 1.25, 0.125, 10),
    "gpt-5.2": _priced(400 * _K, 1.75, 0.175, 14),
    "gpt-5.4": _priced(_M, 2.5, 0.25, 15),
    "gpt-5.4-mini": _priced(400 * _K, 0.75, 0.075, 4.5),
    "gpt-5.5": _priced(_M, 5, 0.5, 30),
}
"""The vendors' list prices of November 2026, for a prompt that is not a long one."""

_WINDOWS = {
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
    "gpt-4.5": 128_000,
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

KNOWN_MODELS: Mapping[str, KnownModel] = {
    **{name: KnownModel(window=window) for name, window in _WINDOWS.items()},
    **_PRICES,
}

# A version of the same model: another name that goes on may be another model at another price.
_VERSION = re.compile(r"(?:[-@:]latest|[-@](?:\d{8}|\d{4}-\d\d-\d\d)(?:-v\d+(?::\d+)?)?)?")


class ModelTable:
    """What is known of models: `models`, by name, before what the library knows itself.

    A window counts for all names that go on from the one in the table, the longest first; a price
    for the name itself and its dated versions. Either may follow a gateway's prefix.
    """

    def __init__(self, models: Mapping[str, KnownModel] | None = None) -> None:
        own = {name.lower(): known for name, known in (models or {}).items()}
        self._models = {**KNOWN_MODELS, **own}
        self._name = _pattern_of(self._models)

    @classmethod
    def parse(cls, text: str) -> ModelTable:
        """Read a table's own models from TOML: a section for each, with the fields as its keys."""
        try:
            return cls(msgspec.toml.decode(text, type=dict[str, KnownModel]))
        except msgspec.DecodeError as error:  # its subclass says which field is wrong
            raise UsageError(f"the table of models is wrong: {error}", path="models") from error

    def window(self, model: str) -> int | None:
        """Return how many tokens a model reads at once; None for one that is not known."""
        known = self._known(model)
        return None if known is None else known.window

    def knows_price(self, model: str) -> bool:
        """Whether it is known what a model costs."""
        return self._priced(model) is not None

    def cost(self, usage: Usage) -> int:
        """Return what a call cost, in millionths of a dollar; 0 where that is not known.

        This is what `Agent(price=…)` takes.
        """
        known = self._priced(usage.model)
        if known is None:
            return 0
        input, output = known.input or 0, known.output or 0
        cached = min(usage.cached_tokens, usage.input_tokens)
        held = input if known.cached is None else known.cached
        # A dollar for a million tokens is a millionth for each.
        fresh = usage.input_tokens - cached
        return round(fresh * input + cached * held + usage.output_tokens * output)

    def _known(self, model: str) -> KnownModel | None:
        found = self._name.match(model)
        return None if found is None else self._models[found["name"].lower()]

    def _priced(self, model: str) -> KnownModel | None:
        found = self._name.match(model)
        if found is None or not _VERSION.fullmatch(model, found.end()):
            return None
        known = self._models[found["name"].lower()]
        return None if known.input is None and known.output is None else known


def _pattern_of(names: Iterable[str]) -> re.Pattern[str]:
    # It may stand after other names, as in "openrouter/openai/gpt-5" and "us.anthropic.claude-3".
    longest_first = sorted(names, key=len, reverse=True)
    known = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?:.*[/.])?(?P<name>{known})(?![a-z0-9])", re.IGNORECASE | re.DOTALL)


_TABLE = ModelTable()


def window_of(model: str | None) -> int | None:
    """Return how many tokens a model reads at once, by what the library knows itself."""
    return _TABLE.window(model) if model else None
