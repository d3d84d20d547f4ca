"""Was it the length of the input that a model's server refused?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ContextOverflowError

_CODE = re.compile(
    r"context_length_exceeded|context_window_exceeded|exceed_context_size|context_overflow"
    r"|prompt_too_long|input_too_long|request_too_large"
)
_CLASS = re.compile(r"Context(Window|Length|Size)?(Length|Limit)?(Exceed|Overflow)")
# What the servers say, with the numbers left out.
_TEXT = re.compile(
    r"context[ _](length|window|size|limit)[ _]exceeded"
    r"|prompt (is )?too long"
    r"|input (is |was )?too (long|large)"
    r"|(maximum|max) (model |context |prompt |input |model context )+(length|window|size)"
    r"|exceeds? (the |this |its |model'?s? |available |maximum |model )*context"
    r"|exceed context (limit|length|window|size)"
    r"|(longer|greater|larger) than the (model'?s? |maximum )*(context|model length)"
    r"|too large for model"
    r"|context (window|length) (exceeds|is full|full)"
    r"|input token count .{0,60}(exceeds|only supports)"
    r"|(prompt|input) (token count|tokens|length) .{0,60}exceeds?"
    r"|exceeded model token limit"
    r"|reduce the length of the (messages|prompt|input|conversation)"
    r"|number of tokens in the (prompt|input|messages)"
    r"|inputs?`? (tokens )?(\+ `?max_new_tokens`? )?must (have less than|be <=?) ?\d+"
    r"|range of input length should be"
    r"|request exceeds the maximum size"
    r"|too many (input|prompt) tokens",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"rate.?limit|per[ _-]?(minute|min\b|hour|day|second)|\bTPM\b|\bRPM\b|quota|throttl",
    re.IGNORECASE,
)
_MOST_TEXT = 20_000
_MOST_CAUSES = 20


def is_context_overflow(error: BaseException) -> bool:
    """Whether an error, or one that caused it, says that the input is too long for the model.

    Goes by the error's class, code, body and message, as the common services and servers word
    them. A rate limit ("tokens per minute") is not an overflow: waiting helps there, and
    shortening does not.
    """
    return any(_is_overflow(each) for each in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it says caused it; not what it merely came up during."""
    todo, seen = [error], set[int]()
    while todo and len(seen) < _MOST_CAUSES:
        each = todo.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if each.__cause__ is not None:
            todo.append(each.__cause__)
        if isinstance(each, BaseExceptionGroup):
            todo.extend(each.exceptions)


def _is_overflow(error: BaseException) -> bool:
    if isinstance(error, ContextOverflowError):
        return True
    names = [kind.__name__ for kind in type(error).__mro__]
    texts = [text[:_MOST_TEXT] for text in _texts(error)]
    if any(_CLASS.search(name) for name in names) or any(_CODE.search(text) for text in texts):
        return True
    is_rate = any("RateLimit" in name for name in names) or _status(error) == 429
    if is_rate or any(_RATE.search(text) for text in texts):
        return False
    return any(_TEXT.search(text) for text in texts)


def _status(error: BaseException) -> Any:
    values = [getattr(error, name, None) for name in ("status_code", "status", "code")]
    return next((value for value in values if isinstance(value, int)), None)


def _texts(error: BaseException) -> Iterator[str]:
    """Yield all that an error says, wherever its client keeps it."""
    yield _said(error)
    for name in ("code", "type", "message", "body", "details", "response_json"):
        yield from _strings(getattr(error, name, None))
    response = getattr(error, "response", None)
    yield from _strings(response)
    try:
        yield from _strings(getattr(response, "text", None))
    except Exception:  # noqa: BLE001 - a streamed response that nobody has read raises here
        return


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - somebody else's error, whose words are not worth a second one
        return ""


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value[:_MOST_TEXT].decode("utf-8", "replace")
    elif isinstance(value, (Mapping, list)) and depth < 4:
        for child in value[:20] if isinstance(value, list) else value.values():
            yield from _strings(child, depth + 1)
