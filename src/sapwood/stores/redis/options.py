"""What a store is opened with: checked before anything connects."""

from __future__ import annotations

import math
from typing import Any

from redis.connection import parse_url

from ...errors import UsageError
from .driver import AsyncRedisDriver, RedisDriver

_CLUSTER = "+cluster"
_LONGEST_S = 10 * 365 * 86_400


def check_url(url: str) -> tuple[str, bool]:
    """Return the driver's URL, and whether it is a cluster's; a password is never shown."""
    scheme, mark, rest = str(url).partition("://")
    is_cluster = scheme.endswith(_CLUSTER)
    scheme = scheme.removesuffix(_CLUSTER)
    if not mark or scheme not in ("redis", "rediss"):
        raise UsageError(
            "the URL cannot be read: use redis://, rediss://, redis+cluster:// or "
            "rediss+cluster://, then user:password@host:port",
            path="url",
        )
    address = f"{scheme}://{rest}"
    try:
        parse_url(address)  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):
        raise UsageError(
            "the URL cannot be read: use redis://user:password@host:port/number", path="url"
        ) from None
    return address, is_cluster


def check_client(client: Any, driver: type[AsyncRedisDriver | RedisDriver]) -> bool:
    """Check a client; return whether it is a cluster's."""
    if not isinstance(client, (driver.single, driver.clustered)):
        raise UsageError(f"the client must be a {driver.names}", path="client")
    if client.get_encoder().decode_responses:
        raise UsageError(
            "the client decodes what it reads, and bodies are bytes: "
            "make it with decode_responses=False",
            path="client",
        )
    return isinstance(client, driver.clustered)


def check_prefix(prefix: str) -> str:
    """Return what all keys begin with, once it is checked."""
    is_text = isinstance(prefix, str) and prefix.isprintable() and prefix.isascii()
    if not is_text or not 0 < len(prefix) <= 64 or set("{} *?[]\\") & set(prefix):
        raise UsageError(
            "prefix must be 1 to 64 ASCII characters without blanks, braces and wildcards",
            path="prefix",
        )
    return prefix


def check_ttl(seconds: float | None) -> int | None:
    """Check for how long a session is kept; return microseconds."""
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not math.isfinite(seconds) or not 0 < seconds <= _LONGEST_S:
        raise UsageError(
            f"session_ttl_s must be a number of seconds above 0, not {seconds!r}",
            path="session_ttl_s",
        )
    return max(1, round(seconds * 1_000_000))


def read_ttl(text: str | None) -> float | None:
    """Read the parameter of a URL."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"ttl must be a number of seconds, not {text!r}", path="ttl") from None
