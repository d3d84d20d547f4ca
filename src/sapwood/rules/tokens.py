"""How many tokens something costs: an estimate by script and kind, or the user's own counter."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from ..model import FilePart, OtherPart, Part, ReasoningPart, TextPart, ToolCallPart

logger = logging.getLogger(__name__)

TokenCounter = Callable[[str, Sequence[Part]], int]

MAX_TOKENS = 2**40  # the sum over any path still fits the integers of every store
MESSAGE_OVERHEAD = 4
MEDIA_TOKENS = {"image": 1_000, "audio": 1_500, "video": 5_000, "application": 2_500}
OTHER_MEDIA_TOKENS = 500

_MARKS = bytes(b for b in range(33, 127) if not chr(b).isalpha())


def estimate_text(text: str) -> int:
    """Estimate the tokens of a text.

    Letters and blanks go about 4.5 to a token, digits and punctuation 1.9. Beyond ASCII, what a
    character costs grows with its bytes: an accented letter 0.6, a Chinese, Japanese or Korean
    character 1, an emoji 1.4.
    """
    data = text.encode("utf-8", "replace")
    return _estimate(data, len(data) - len(text))


def estimate_utf8(data: bytes) -> int:
    """Estimate the tokens of a text that is encoded."""
    return _estimate(
        data, 0 if data.isascii() else len(data) - len(data.decode("utf-8", "replace"))
    )


def _estimate(data: bytes, continued: int) -> int:
    """Estimate UTF-8 of which so many bytes continue a character."""
    # In 900ths of a token, since whole numbers are quicker here than fractions.
    plain = len(data.translate(None, _MARKS))
    return -(-((len(data) - plain) * 477 + plain * 200 + continued * 160) // 900)


def estimate_parts(parts: Sequence[Part]) -> int:
    """Estimate the tokens of a message, its frame included."""
    total = MESSAGE_OVERHEAD
    for part in parts:
        if isinstance(part, (TextPart, ReasoningPart)):
            data = part.text.encode()
            total += _estimate(data, len(data) - len(part.text))
        else:
            total += _estimate_structured(part)
    return total


def _estimate_structured(part: Part) -> int:
    if isinstance(part, FilePart):
        kind = part.media_type.partition("/")[0]
        if kind == "text" and part.data is not None:
            return estimate_utf8(part.data)
        return MEDIA_TOKENS.get(kind, OTHER_MEDIA_TOKENS)
    if isinstance(part, ToolCallPart):
        return estimate_utf8(part.name.encode()) + estimate_utf8(msgspec.json.encode(part.input))
    content = part.value if isinstance(part, OtherPart) else getattr(part, "output", None)
    return estimate_utf8(
        content.encode() if isinstance(content, str) else msgspec.json.encode(content)
    )


def count_tokens(counter: TokenCounter | None, role: str, parts: Sequence[Part]) -> int | None:
    """Count with the user's counter; None, for the estimate, when there is none or it fails."""
    return None if counter is None else ask_counter("token", counter, role, parts)


def ask_counter(
    kind: str, counter: Callable[..., int], *args: object, instead: str = "the estimate is"
) -> int | None:
    """Call a user's counter; None when it fails or gives no number, and the log says so."""
    try:
        tokens = counter(*args)
    except Exception:
        logger.warning("the %s counter failed; %s used", kind, instead, exc_info=True)
        return None
    if type(tokens) is not int or not 0 <= tokens <= MAX_TOKENS:
        logger.warning("the %s counter gave %r; %s used", kind, tokens, instead)
        return None
    return tokens
