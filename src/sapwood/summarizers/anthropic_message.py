"""A message, in Anthropic's protocol, read as a summary."""

from __future__ import annotations

from typing import Any

from ..compaction.function import SummaryAnswer
from ..errors import CompactionError
from ..model import Usage
from .loose_values import count_at, id_at, pick, quoted, text_at

_CUT_OFF = {
    "max_tokens": "was cut off by the limit on its length: raise max_tokens, or ask for less",
    "model_context_window_exceeded": "was cut off at the end of the model's context",
    "pause_turn": "was not finished: the endpoint paused the turn",
}
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def summary_of_message(message: Any, model: str) -> SummaryAnswer:
    """Return the text and the usage, or raise `CompactionError` that says what came instead."""
    why = pick(message, "stop_reason")
    text = text_at(message, "content")
    if why == "refusal":
        said = pick(message, "stop_details", "explanation") or text
        raise CompactionError(f"{model!r} refused to write a summary: {quoted(said)}")
    if isinstance(why, str) and why in _CUT_OFF:
        raise CompactionError(f"the summary of {model!r} {_CUT_OFF[why]}")
    if not text.strip():
        raise CompactionError(
            f"{model!r} answered without text, with the stop reason {why!r}: {quoted(message)}"
        )
    return SummaryAnswer(text=text, usage=usage_of_message(message, model))


def usage_of_message(message: Any, model: str) -> Usage | None:
    """Return what a message says that the call cost.

    The protocol counts what was read from and written to the cache apart; input is all of it.
    """
    usage, id = pick(message, "usage"), id_at(message, "id")
    if usage is None or id is None:
        return None
    return Usage(
        id=id,
        model=id_at(message, "model") or model,
        input_tokens=sum(count_at(usage, name) for name in _INPUT),
        output_tokens=count_at(usage, "output_tokens"),
        cached_tokens=count_at(usage, "cache_read_input_tokens"),
        reasoning_tokens=count_at(usage, "output_tokens_details", "thinking_tokens"),
    )
