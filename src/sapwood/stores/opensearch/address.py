"""The URL of OpenSearch: where it is, who asks, and our own parameters."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any
from urllib.parse import unquote

from ...errors import UsageError
from ..url import take_parameters

PREFIX = "sapwood"
PARAMETERS = {"prefix", "refresh", "shards", "replicas"}
PORT = 9200
MOST_CONNECTIONS = 64
TIMEOUT_S = 30.0
RETRIES = 2

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}", re.ASCII)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII | re.IGNORECASE)


def read_address(url: str, names: Set[str] = frozenset()) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the driver's client is made with, and our own parameters, of these names.

    No error quotes the URL, since it may hold a password.
    """
    url, parameters = take_parameters(url, names)
    scheme, _, rest = url.partition("://")
    place, mark, query = rest.partition("?")
    if query or mark:
        raise UsageError(
            f"the URL takes only these parameters: {', '.join(sorted(names))}", path="url"
        )
    login, at, hosts = place.rpartition("@")
    client: dict[str, Any] = {
        "hosts": [_host(host) for host in hosts.rstrip("/").split(",")],
        "use_ssl": scheme.endswith("+https"),
        "max_retries": RETRIES,
    }
    if at:
        user, _, password = login.partition(":")
        client["http_auth"] = (unquote(user), unquote(password))
    return client, parameters


def _host(text: str) -> dict[str, Any]:
    found = _HOST.fullmatch(text)
    if found is None:
        raise UsageError(
            "the URL must be opensearch://user:password@host:9200, with a comma between hosts",
            path="url",
        )
    host, port = found.groups()
    return {"host": host, "port": int(port or PORT)}


def check_prefix(prefix: str) -> str:
    """Check the name that all names of ours begin with."""
    if not _NAME.fullmatch(prefix):
        raise UsageError(
            "a prefix has up to 100 lower-case letters, digits, - and _, and begins with a letter "
            f"or digit: {prefix[:100]!r} does not",
            path="prefix",
        )
    return prefix


def read_options(url: str, *, refresh: str) -> dict[str, Any]:
    """Return what a store or an index is made with: its address, and our own parameters."""
    _, given = read_address(url, PARAMETERS)
    return {
        "url": url.partition("?")[0],
        "prefix": given.get("prefix", PREFIX),
        "refresh": _flag(given.get("refresh", refresh), "refresh"),
        "shards": _whole(given.get("shards", "1"), "shards", 1, 1_000),
        "replicas": _whole(given["replicas"], "replicas", 0, 10) if "replicas" in given else None,
    }


def _flag(value: str, name: str) -> bool:
    """Read a parameter that is true or false."""
    if value not in ("true", "false"):
        raise UsageError(f"{name} is true or false, not {value[:40]!r}", path=name)
    return value == "true"


def _whole(value: str, name: str, least: int, most: int) -> int:
    """Read a parameter that is a whole number."""
    if not (value.isascii() and value.isdigit() and least <= int(value[:9]) <= most):
        raise UsageError(f"{name} is a number from {least} to {most}", path=name)
    return int(value)
