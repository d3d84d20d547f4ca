"""Where a block's text comes from: anything with the right methods, whose shape says its kind.

The methods may be plain or, for the async twins, have to be awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeGuard

from ..errors import UsageError
from ..rules.prompt import BlockKind

ProvidedText = str | None | Awaitable[str | None]


class ReadProvider(Protocol):
    """Gives a text that the model reads; None when there is none."""

    def get(self) -> ProvidedText:
        """Return the text."""


class WritableProvider(ReadProvider, Protocol):
    """Gives a text that can be replaced."""

    def set(self, content: str) -> Any:
        """Replace the text."""


class LoadableProvider(ReadProvider, Protocol):
    """Has entries that are loaded by key; `get` gives the catalogue of them.

    It may have a `set(key, content, description=None)`.
    """

    def load(self, key: str) -> ProvidedText:
        """Return an entry's text, or None when there is no such entry."""


class SearchableProvider(ReadProvider, Protocol):
    """Has entries that are searched; `get` gives a short text about them.

    It may have a `set(key, content, description=None)`.
    """

    def search(self, query: str) -> ProvidedText:
        """Return what was found as text, or None when nothing was."""


def is_writable(provider: object) -> TypeGuard[WritableProvider]:
    """Whether a provider can be written: as a whole, or if it has entries, those."""
    return _has(provider, "set")


def is_loadable(provider: object) -> TypeGuard[LoadableProvider]:
    """Whether a provider has entries that are loaded by key."""
    return _has(provider, "load")


def is_searchable(provider: object) -> TypeGuard[SearchableProvider]:
    """Whether a provider has entries that are searched."""
    return _has(provider, "search")


def is_keyed(provider: object) -> bool:
    """Whether a provider's `set` writes one entry, and not all of it."""
    return is_writable(provider) and (is_loadable(provider) or is_searchable(provider))


def kind_of(provider: object) -> BlockKind:
    """Return the kind that the prompt names: the strongest of those that the shape has."""
    return strongest_kind(is_searchable(provider), is_loadable(provider), is_writable(provider))


def strongest_kind(searchable: bool, loadable: bool, writable: bool) -> BlockKind:
    """Return the kind that the prompt names for a block of which this is true."""
    if searchable:
        return "searchable"
    if loadable:
        return "loadable"
    return "writable" if writable else "readonly"


def check_provider(provider: object, path: str) -> None:
    """Refuse what is no provider."""
    if isinstance(provider, (type, Mapping)) or not _has(provider, "get"):
        raise UsageError(
            f"{path} must be an object with a method get(), not {provider!r:.80}: "
            "TextProvider(text) and CallableProvider(function) are such",
            path=path,
        )


def _has(provider: object, method: str) -> bool:
    return callable(getattr(provider, method, None))
