"""What the vendors' answers say that a call cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..model import Usage
from ..rules.ids import is_name


def usage_of_completion(completion: Any, model: str = "") -> Usage | None:
    """Return what a chat completion of OpenAI's, or a chunk of one, says that the call cost."""
    return _usage_of(
        completion,
        model,
        input=("prompt_tokens",),
        output="completion_tokens",
        cached=("prompt_tokens_details", "cached_tokens"),
        reasoning=("completion_tokens_details", "reasoning_tokens"),
    )


def usage_of_response(response: Any, model: str = "") -> Usage | None:
    """Return what a response of OpenAI's says that the call cost."""
    return _usage_of(
        response,
        model,
        input=("input_tokens",),
        output="output_tokens",
        cached=("input_tokens_details", "cached_tokens"),
        reasoning=("output_tokens_details", "reasoning_tokens"),
    )


def usage_of_message(message: Any, model: str = "") -> Usage | None:
    """Return what a message of Anthropic's says that the call cost."""
    # The protocol counts what was read from and written to the cache apart; input is all of it.
    return _usage_of(
        message,
        model,
        input=("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        output="output_tokens",
        cached=("cache_read_input_tokens",),
        reasoning=("output_tokens_details", "thinking_tokens"),
    )


def _usage_of(
    answer: Any,
    model: str,
    *,
    input: Sequence[str],
    output: str,
    cached: Sequence[str],
    reasoning: Sequence[str],
) -> Usage | None:
    """Return what an answer says that the call cost; input is the sum of several fields."""
    usage, id = pick(answer, "usage"), pick(answer, "id")
    if usage is None or not is_name(id):
        return None
    named = pick(answer, "model")
    return Usage(
        id=id,
        model=named if is_name(named) else model,
        input_tokens=sum(_count_at(usage, name) for name in input),
        output_tokens=_count_at(usage, output),
        cached_tokens=_count_at(usage, *cached),
        reasoning_tokens=_count_at(usage, *reasoning),
    )


def pick(value: Any, *path: str | int) -> Any:
    """Follow names and indexes into a value; None where it does not go on."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = getattr(value, step, None)
    return value


def _count_at(value: Any, *path: str | int) -> int:
    """Return the count that is there, or 0."""
    found = pick(value, *path)
    is_count = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if is_count else 0
