"""A chat completion, in OpenAI's protocol, read as a summary."""

from __future__ import annotations

from typing import Any

from ..compaction.function import SummaryAnswer
from ..errors import CompactionError
from ..model import Usage
from .loose_values import count_at, id_at, pick, quoted, text_at

_CUT_OFF = {
    "length": "was cut off by the limit on its length: raise max_tokens, or ask for less",
    "content_filter": "was cut off by the endpoint's content filter",
}
_VENDORS_HOSTS = ("openai.com", "openai.azure.com")


def limit_name(host: str) -> str:
    """Return what an endpoint calls the limit on an answer's length.

    OpenAI's newer models refuse the old name; other endpoints may know no other.
    """
    is_vendor = any(host == it or host.endswith(f".{it}") for it in _VENDORS_HOSTS)
    return "max_completion_tokens" if is_vendor else "max_tokens"


def summary_of_completion(completion: Any, model: str) -> SummaryAnswer:
    """Return the text and the usage, or raise `CompactionError` that says what came instead."""
    choice = pick(completion, "choices", 0)
    if choice is None:
        raise CompactionError(f"{model!r} answered without a choice: {quoted(completion)}")
    refusal = text_at(choice, "message", "refusal")
    if refusal:
        raise CompactionError(f"{model!r} refused to write a summary: {quoted(refusal)}")
    why = pick(choice, "finish_reason")
    if isinstance(why, str) and why in _CUT_OFF:
        raise CompactionError(f"the summary of {model!r} {_CUT_OFF[why]}")
    text = text_at(choice, "message", "content")
    if not text.strip():
        raise CompactionError(
            f"{model!r} answered without text, with the finish reason {why!r}: {quoted(choice)}"
        )
    return SummaryAnswer(text=text, usage=usage_of_completion(completion, model))


def usage_of_completion(completion: Any, model: str) -> Usage | None:
    """Return what a completion, or the last piece of a streamed one, says that the call cost."""
    usage, id = pick(completion, "usage"), id_at(completion, "id")
    if usage is None or id is None:
        return None
    return Usage(
        id=id,
        model=id_at(completion, "model") or model,
        input_tokens=count_at(usage, "prompt_tokens"),
        output_tokens=count_at(usage, "completion_tokens"),
        cached_tokens=count_at(usage, "prompt_tokens_details", "cached_tokens"),
        reasoning_tokens=count_at(usage, "completion_tokens_details", "reasoning_tokens"),
    )
