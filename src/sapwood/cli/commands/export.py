"""`sapwood export`: sessions as JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from ..completion import session_argument
from ..output import Output, escape_obeyed, note
from ..progress import AdvanceBar, progress_bar
from ..settings import Settings, common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...session import SessionManager
    from ...transfer import Exported

LINES_BETWEEN_LOOKS = 100


@click.command("export")
@session_argument("names", nargs=-1)
@click.option(
    "--output",
    "-o",
    "path",
    type=click.Path(allow_dash=True, path_type=Path),
    help="The file to write; without it, standard output.",
)
@click.option("--force", "is_forced", is_flag=True, help="Replace a file that is there.")
@common_options
@click.pass_context
def command(
    context: click.Context, names: tuple[str, ...], path: Path | None, is_forced: bool
) -> None:
    """Write sessions as JSON Lines.

    Without a SESSION all are written, with the owner's documents. A file is there whole, or not
    at all; one that is there is only replaced with --force.

    \b
    Example:
      sapwood export support -o support.jsonl
      sapwood export | gzip > all.jsonl.gz
    """
    settings = settings_of(context)
    with settings.open() as sessions:
        if path is None or str(path) == "-":
            _to_stdout(sessions, names)
        else:
            from ..whole_file import target_of

            target = target_of(path, settings.file(), replace=is_forced)
            done = _to_file(sessions, names, target)
            _report(done, path, settings)


def _to_stdout(sessions: SessionManager, names: tuple[str, ...]) -> None:
    from ...transfer import Exported, export_lines

    done = Exported()
    lines = export_lines(sessions.store, sessions.owner, names or None, done)
    if sys.stdout.isatty():
        for line in lines:
            sys.stdout.write(escape_obeyed(line.decode()))
    else:
        _write(lines, sys.stdout.buffer, lambda done, total: None, done, 0)
    _tell(done)


def _to_file(sessions: SessionManager, names: tuple[str, ...], path: Path) -> Exported:
    from ...transfer import Exported, export_lines
    from ..whole_file import whole_file

    done = Exported()
    total = 0 if names else sessions.store.statistics(sessions.owner).messages
    with progress_bar("export", unit="messages") as advance, whole_file(path) as file:
        lines = export_lines(sessions.store, sessions.owner, names or None, done)
        _write(lines, file, advance, done, total)
    return done


def _report(done: Exported, path: Path, settings: Settings) -> None:
    figures = {"sessions": len(done.names), "messages": done.messages, "file": str(path)}
    if settings.json:
        Output().json({**figures, "notes": done.notes})
    else:
        Output().line(f"{len(done.names)} sessions, {done.messages} messages")
        _tell(done)


def _write(
    lines: Iterable[bytes], file: BinaryIO, advance: AdvanceBar, done: Exported, total: int
) -> None:
    for number, line in enumerate(lines):
        file.write(line)
        if number % LINES_BETWEEN_LOOKS == 0:
            advance(done.messages, total)


def _tell(done: Exported) -> None:
    for text in done.notes:
        note(f"note: {clean(text)}")
