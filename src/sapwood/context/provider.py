"""Where a block's text comes from: anything with the right methods, whose shape says its kind.

The methods may be plain or, for the async twins, have to be awaited. For text, files and functions
there are providers here.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from ..errors import UsageError
from ..rules import check
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


class TextProvider:
    """A text that does not change."""

    def __init__(self, text: str) -> None:
        check.text(text, "text")
        self._text = text

    def get(self) -> str:
        """Return the text."""
        return self._text

    def fingerprint(self) -> str:
        """Return the text: another one is another configuration."""
        return self._text


class CallableProvider:
    """What a function without arguments gives; in the async twins it may have to be awaited."""

    def __init__(self, function: Callable[[], ProvidedText]) -> None:
        self._function = function

    def get(self) -> ProvidedText:
        """Call the function."""
        return self._function()


class FileProvider:
    """A text file in UTF-8; one that is not there is an empty block.

    With `writable` it can be written: the new text is there whole, or not at all. Writers of the
    same file do not know of each other, so keep what several write at once in a store.
    """

    set: Callable[[str], None]

    def __init__(self, path: str | Path, *, writable: bool = False) -> None:
        self._path = Path(path)
        if writable:
            # The shape says the kind: what may not be written has no such method.
            self.set = self._write

    def get(self) -> str | None:
        """Read the file."""
        try:
            return self._path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return None

    def _write(self, content: str) -> None:
        import tempfile  # slow to load, and few need it

        target = self._path.resolve()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode())
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
