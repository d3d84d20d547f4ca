"""A URL with something more in it, whatever options it has already."""

from __future__ import annotations

from urllib.parse import quote


def with_parameters(url: str, **given: str) -> str:
    """Add parameters, after those that it has."""
    added = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
    address, _, query = url.partition("?")
    return f"{address}?{query}&{added}" if query else f"{address}?{added}"


def with_database(url: str, database: str) -> str:
    """Put a database into it, in place of the one that it names."""
    address, mark, query = url.partition("?")
    scheme, slashes, rest = address.partition("://")
    return f"{scheme}{slashes}{rest.partition('/')[0]}/{database}{mark}{query}"
