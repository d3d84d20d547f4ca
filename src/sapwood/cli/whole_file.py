"""A file that is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import AlreadyExistsError, UsageError

# The database, its logs, and its search index with its own.
DATABASE_FILES = ("", "-journal", "-wal", "-shm", "-search", "-search-wal", "-search-shm")


def target_of(path: Path, database: Path | None, *, replace: bool) -> Path:
    """Return the file that a path leads to, if it may be written.

    Raises `UsageError` for a folder and for one of the database's files, and `AlreadyExistsError`
    for a file that is there and not to be replaced.
    """
    target = path.resolve()
    if target.is_dir():
        raise UsageError(f"{str(path)!r} is a folder: name a file")
    if database is not None and _is_of_database(target, database):
        raise UsageError(f"{str(path)!r} belongs to the database itself: name another file")
    if target.is_file() and not replace:
        raise AlreadyExistsError(
            f"there is a file {str(path)!r} already: name another one, or say that it is to be "
            "replaced with --force"
        )
    return target


def _is_of_database(target: Path, database: Path) -> bool:
    files = [Path(f"{database.resolve()}{ending}") for ending in DATABASE_FILES]
    return any(
        target == it or (target.exists() and it.exists() and target.samefile(it)) for it in files
    )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file under another name beside its own, which it gets when all went well."""
    if path.exists() and not path.is_file():
        # A device or a pipe has no name to get.
        with path.open("wb") as device:
            yield device
        return
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    file = _begun(unfinished, path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _begun(unfinished: Path, path: Path) -> BinaryIO:
    """Begin a file; what is wrong is told of the name that was asked for."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}: create it first")
    try:
        return unfinished.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
