"""`sapwood import`: sessions from JSON Lines."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from ..interrupts import held_interrupts
from ..output import Output, note
from ..progress import progress_bar
from ..settings import Settings, common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...session import SessionManager
    from ...transfer import Imported


@click.command("import")
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@common_options
@click.pass_context
def command(context: click.Context, path: str) -> None:
    """Read sessions from JSON Lines.

    FILE is what `sapwood export` wrote; - is standard input. Messages that are there already, and
    equal, are skipped. If any differs, that is told before anything is written.

    \b
    Example:
      sapwood import support.jsonl
      zcat all.jsonl.gz | sapwood import -
    """
    from ...transfer import import_file

    settings = settings_of(context)
    with _opened(path) as file, _store_for(file, settings) as sessions:
        # It is read twice: once to check it, once to write what it says.
        size = 2 * file.seek(0, os.SEEK_END)
        with progress_bar("import", unit="bytes") as advance, held_interrupts() as let_through:

            def progress(position: int) -> None:
                let_through()
                advance(position, size)

            with _telling_notes():
                done = import_file(sessions.store, sessions.owner, file, progress)
    _report(done, settings.json)


@contextmanager
def _telling_notes() -> Iterator[None]:
    """Note, when an import ends early, what it leaves behind."""
    try:
        yield
    except BaseException as error:
        for text in getattr(error, "__notes__", ()):
            note(f"note: {clean(text)}")
        raise


def _store_for(file: BinaryIO, settings: Settings) -> SessionManager:
    """Open the store; one that is not there yet is not made for a file that is wrong."""
    from ...transfer import check_alone

    database = settings.file()
    if database is not None and not database.exists():
        check_alone(file)
    return settings.open(create=True)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Return a file that can be read twice: what comes through a pipe is put aside first."""
    with sys.stdin.buffer if path == "-" else open(path, "rb") as source:  # noqa: PTH123
        if source.seekable():
            yield source
            return
        with tempfile.TemporaryFile() as spool:
            shutil.copyfileobj(source, spool)
            yield spool


def _report(done: Imported, is_json: bool) -> None:
    if is_json:
        Output().json(
            {
                "created": done.created,
                "existing": done.existing,
                "written": done.written,
                "skipped": done.skipped,
                "notes": done.notes,
            }
        )
        return
    Output().line(
        f"{len(done.created)} sessions created, {len(done.existing)} there already; "
        f"{done.written} messages written, {done.skipped} there already"
    )
    for text in done.notes:
        note(f"note: {clean(text)}")
