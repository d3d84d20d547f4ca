"""The URL of a server: which of its parameters are ours."""

from __future__ import annotations

from collections.abc import Set
from urllib.parse import parse_qsl, quote, urlencode


def take_parameters(url: str, names: Set[str]) -> tuple[str, dict[str, str]]:
    """Take our own parameters out of a URL; give it without them, and what they say."""
    address, mark, query = url.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    theirs = urlencode([it for it in given if it[0] not in names], quote_via=quote)
    ours = {name: value for name, value in given if name in names}
    return f"{address}{mark if theirs else ''}{theirs}", ours
