"""Providers for text, files and functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..rules import check
from .provider import ProvidedText


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
