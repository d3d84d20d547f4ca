"""Answers in the protocols of OpenAI and of Anthropic, read as a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..compaction.function import SummaryAnswer
from ..errors import CompactionError
from ..formats import usage_of_completion, usage_of_message
from ..formats.usage import pick

MOST_QUOTED = 200

_TOO_LONG = "was cut off by the limit on its length: raise max_tokens, or ask for less"
_COMPLETION_CUT_OFF = {
    "length": _TOO_LONG,
    "content_filter": "was cut off by the endpoint's content filter",
}
_MESSAGE_CUT_OFF = {
    "max_tokens": _TOO_LONG,
    "model_context_window_exceeded": "was cut off at the end of the model's context",
    "pause_turn": "was not finished: the endpoint paused the turn",
}
_VENDORS_HOSTS = ("openai.com", "openai.azure.com")


def limit_name(host: str) -> str:
    """Return what an endpoint of OpenAI's protocol calls the limit on an answer's length.

    OpenAI's newer models refuse the old name; other endpoints may know no other.
    """
    is_vendor = any(host == it or host.endswith(f".{it}") for it in _VENDORS_HOSTS)
    return "max_completion_tokens" if is_vendor else "max_tokens"


def summary_of_completion(completion: Any, model: str) -> SummaryAnswer:
    """Read a chat completion; `CompactionError` says what came instead of a summary."""
    choice = pick(completion, "choices", 0)
    if choice is None:
        raise CompactionError(f"{model!r} answered without a choice: {quoted(completion)}")
    refusal = text_at(choice, "message", "refusal")
    if refusal:
        raise CompactionError(f"{model!r} refused to write a summary: {quoted(refusal)}")
    text = text_at(choice, "message", "content")
    _refuse_unfinished(text, model, choice, "finish_reason", _COMPLETION_CUT_OFF)
    return SummaryAnswer(text=text, usage=usage_of_completion(completion, model))


def summary_of_message(message: Any, model: str) -> SummaryAnswer:
    """Read a message of Anthropic's; `CompactionError` says what came instead of a summary."""
    text = text_at(message, "content")
    if pick(message, "stop_reason") == "refusal":
        said = pick(message, "stop_details", "explanation") or text
        raise CompactionError(f"{model!r} refused to write a summary: {quoted(said)}")
    _refuse_unfinished(text, model, message, "stop_reason", _MESSAGE_CUT_OFF)
    return SummaryAnswer(text=text, usage=usage_of_message(message, model))


def _refuse_unfinished(
    text: str, model: str, answer: Any, reason: str, cut_off: Mapping[str, str]
) -> None:
    """Refuse what was cut off, which the field `reason` says, and what is blank."""
    why = pick(answer, reason)
    if isinstance(why, str) and why in cut_off:
        raise CompactionError(f"the summary of {model!r} {cut_off[why]}")
    if not text.strip():
        named = reason.replace("_", " ")
        raise CompactionError(
            f"{model!r} answered without text, with the {named} {why!r}: {quoted(answer)}"
        )


def text_at(value: Any, *path: str | int) -> str:
    """Return the text that is there; a list of text parts is joined, anything else is empty."""
    found = pick(value, *path)
    if isinstance(found, list):
        found = "".join(text_at(it, "text") for it in found if pick(it, "type") == "text")
    return found if isinstance(found, str) else ""


def quoted(value: Any) -> str:
    """Quote the beginning of what came."""
    plain = value.to_dict(warnings=False) if hasattr(value, "to_dict") else value
    text = plain if isinstance(plain, str) else repr(plain)
    return repr(text) if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]!r} and so on"
