"""SQLite's errors in our words; no exception of the driver leaves this package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from ...errors import (
    ClosedError,
    ReadOnlyError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)

DRIVER_ERRORS = (apsw.Error, UnicodeDecodeError)
"""What the driver raises; the second for a text that is not UTF-8."""

_KINDS: tuple[tuple[type[Exception], type[StoreError], str], ...] = (
    (apsw.BusyError, StoreBusyError, "other writers held the database for too long: try again"),
    (apsw.LockedError, StoreBusyError, "the database is locked: try again"),
    (apsw.ProtocolError, StoreBusyError, "too many came at once for the database's log: try again"),
    (apsw.SchemaChangeError, StoreBusyError, "the schema was changed meanwhile: try again"),
    (apsw.FullError, StoreUnavailableError, "the disk is full: nothing was written"),
    (apsw.IOError, StoreUnavailableError, "the disk failed"),
    (apsw.CantOpenError, StoreUnavailableError, "the file cannot be opened"),
    (apsw.ReadOnlyError, ReadOnlyError, "the database cannot be written"),
    (apsw.PermissionsError, ReadOnlyError, "the file's permissions do not allow this"),
    (apsw.NotADBError, StoreCorruptError, "the file is not a SQLite database"),
    (apsw.CorruptError, StoreCorruptError, "the database is damaged"),
    (apsw.ConnectionClosedError, ClosedError, "the store is closed"),
    (apsw.CursorClosedError, ClosedError, "the store is closed"),
)


def is_damage(error: BaseException | None) -> bool:
    """Whether a file has been read that is not as it was written."""
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA
    return isinstance(error, (apsw.CorruptError, apsw.NotADBError))


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise the driver's errors in our words."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translate(error, where) from error


def translate(error: Exception, where: str) -> StoreError:
    """Return the error to raise for one of the driver's, which is its cause."""
    if isinstance(error, UnicodeDecodeError):
        return StoreCorruptError(f"{where}: a text in the database is damaged ({error})")
    if isinstance(error, apsw.CantOpenError) and (seen := _not_opened(where)):
        return seen
    if isinstance(error, apsw.IOError) and is_damage(error):
        return StoreCorruptError(f"{where}: a page is not as it was written ({error})")
    for kind, ours, advice in _KINDS:
        if isinstance(error, kind):
            return ours(f"{where}: {advice} ({error})")
    return StoreError(f"{where}: SQLite failed ({type(error).__name__}: {error})")


def _not_opened(path: str) -> StoreError | None:
    """Return why a file cannot be opened, which SQLite does not tell; None if that is not seen."""
    folder, name = os.path.split(path)
    folder = folder or os.curdir
    if os.path.isdir(path):  # noqa: PTH112  unlike a path object's, it never raises
        return StoreError(f"{path} is a folder: name a file, or move the folder away")
    is_new = not os.path.exists(path)  # noqa: PTH110
    if is_new and os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):  # noqa: PTH112
        return ReadOnlyError(
            f"the folder {folder!r} cannot be written, and has no {name!r} yet: "
            "check the permissions of the folder, or use another one"
        )
    return None
