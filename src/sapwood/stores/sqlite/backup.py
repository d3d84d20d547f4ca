"""Copying a database into a file, while others write to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ...errors import AlreadyExistsError, ConflictError, StoreUnavailableError, UsageError
from .connection import Connection
from .index.file import index_path
from .inheritance import connect

PAGES_IN_A_STEP = 2_000
_FILES = ("", "-journal", "-wal", "-shm")


def copy_database(
    source: Connection,
    path: Path,
    replace: bool,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Copy what one snapshot shows; the file gets its name when it is whole and on disk."""
    _refuse(source, path, replace)
    # A name of this thread's own: another one may be making the same copy.
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_native_id()}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        _copy(source, unfinished, progress)
        _take_name(unfinished, path, replace)
    except OSError as error:
        raise StoreUnavailableError(f"{path} cannot be written: {error}") from error
    finally:
        for ending in _FILES:
            Path(f"{unfinished}{ending}").unlink(missing_ok=True)


def _refuse(source: Connection, path: Path, replace: bool) -> None:
    if not path.parent.is_dir():
        raise StoreUnavailableError(f"there is no folder {str(path.parent)!r}: create it first")
    if _is_own(source.raw.filename, path):
        raise UsageError(
            f"{path} is the database itself or a file of its own: choose another", path="path"
        )
    if not path.exists():
        return
    if not replace:
        raise AlreadyExistsError(
            f"there is a file {str(path)!r} already: choose another, or replace it"
        )
    if not path.is_file():
        raise UsageError(f"{path} is no file", path="path")


def _is_own(database: str, path: Path) -> bool:
    """Whether a path is the database, its index or a log of theirs, there or yet to come."""
    files = (f"{name}{end}" for name in (database, index_path(database)) for end in _FILES)
    return any(path.resolve() == Path(own).resolve() or _is_same(path, own) for own in files)


def _is_same(path: Path, other: str) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False  # one of them is not there, or is not there any more


def _copy(source: Connection, target: Path, progress: Callable[[int, int], None] | None) -> None:
    with source.snapshot(), closing(connect(str(target))) as copy:
        # A snapshot begins with its first read; without one, each commit would begin the copy anew.
        source.value("SELECT count(*) FROM migration")
        with copy.backup("main", source.raw, "main") as backup:
            while not backup.done:
                backup.step(PAGES_IN_A_STEP)
                if progress is not None:
                    progress(backup.page_count - backup.remaining, backup.page_count)


def _take_name(unfinished: Path, path: Path, replace: bool) -> None:
    # The log of an old database would be taken for the copy's.
    for ending in ("-wal", "-journal"):
        if Path(f"{path}{ending}").exists():
            raise ConflictError(
                f"{path}{ending} lies beside it: {path} is in use, or was not closed"
            )
    if replace:
        unfinished.replace(path)
    else:
        _name_new(unfinished, path)
    sync_folder(path.parent)


def _name_new(unfinished: Path, path: Path) -> None:
    """Take the name only if nobody else took it meanwhile."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise AlreadyExistsError(
            f"there is a file {str(path)!r} already: choose another, or replace it"
        ) from None
    except OSError:
        # Not every file system knows links.
        unfinished.rename(path)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power cut, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
