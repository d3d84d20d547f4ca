"""Is a model's failure one that passes, and how long is it to be waited for?"""

from __future__ import annotations

from contextlib import suppress
from math import isfinite
from typing import Any

from ..errors import ModelFailedError

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
_CLASSES = ("APIConnectionError", "APITimeoutError", "TransportError", "OverloadedError")
_CODES = (
    "overloaded_error", "rate_limit_error", "rate_limit_exceeded", "api_error", "timeout_error",
    "server_error", "internal_server_error", "service_unavailable",
)  # fmt: skip


def is_retryable(error: BaseException) -> bool:
    """Whether an error of a model may be gone when it is asked again, as its vendor says."""
    said = _header(error, "x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and (status in (408, 409, 429) or status >= 500):
        # Whoever has no money left has none in a minute either.
        return getattr(error, "code", None) != "insufficient_quota"
    if isinstance(error, ModelFailedError):
        return error.said is None or error.said in _CODES
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint(_CLASSES) or _code(error) in _CODES


def wait_s(error: BaseException, attempt: int) -> float:
    """Return how long to wait before the next attempt: as the server says, or longer each time."""
    with suppress(TypeError, ValueError):
        said = float(_header(error, "retry-after") or "")
        if isfinite(said) and said >= 0:
            return min(said, LONGEST_WAIT_S)
    return float(min(FIRST_WAIT_S * 2**attempt, LONGEST_WAIT_S))


def _header(error: BaseException, name: str) -> str | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return None if headers is None else headers.get(name)


def _code(error: BaseException) -> Any:
    """Return the vendor's word for an error, which one in a stream has in its body."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    found = inner.get("type") or inner.get("code") if isinstance(inner, dict) else None
    return getattr(error, "code", None) or found
