"""`sapwood export`, `import` and `copy`: sessions out of a store and into another."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
from click.core import ParameterSource

from ...errors import UsageError
from ...rules.wording import counted
from ..interrupts import held_interrupts
from ..output import (
    AdvanceBar,
    Output,
    clean_block,
    escape_obeyed,
    progress_bar,
    write_json_line,
    write_notes,
)
from ..settings import Settings, common_options, pass_settings, session_argument
from ..whole_file import target_of, whole_file

if TYPE_CHECKING:
    from ...session import SessionManager
    from ...transfer import CopyEvent, Exported

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
@click.option(
    "--format",
    "written_as",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    help="JSON Lines to import, or Markdown to read; jsonl.",
)
@common_options
@pass_settings
def export_command(
    settings: Settings,
    names: tuple[str, ...],
    path: Path | None,
    is_forced: bool,
    written_as: str,
) -> None:
    """Write sessions as JSON Lines or Markdown.

    Without a SESSION all are written, with the owner's documents. A file is there whole, or not
    at all; one that is there is only replaced with --force. Markdown is for people: the messages on
    the path to the tip. It cannot be imported.

    \b
    Example:
      sapwood export support -o support.jsonl
      sapwood export support --format markdown -o support.md
      sapwood export | gzip > all.jsonl.gz
    """
    from ...transfer import Exported, export_lines
    from ..markdown import markdown_lines
    from ..short_ids import session_id

    done = Exported()
    with settings.open() as sessions:
        ids = [session_id(sessions, name) for name in dict.fromkeys(names)] or None
        if written_as == "markdown":
            lines = markdown_lines(sessions, ids, done, settings.output)
        else:
            lines = export_lines(sessions.store, sessions.owner, ids, done)
        if path is None or str(path) == "-":
            _write_to_stdout(lines, clean_block if written_as == "markdown" else escape_obeyed)
        else:
            target = target_of(path, settings.file(), replace=is_forced)
            total = 0 if names else _messages_of(sessions)
            _write_to_file(lines, target, done, total)
            figures = {"sessions": len(done.names), "messages": done.messages, "file": str(path)}
            sessions_told = counted(len(done.names), "session")
            line = f"{sessions_told}, {counted(done.messages, 'message')}"
            settings.output.answer(figures, line)


def _messages_of(sessions: SessionManager) -> int:
    """Count the messages of an owner; 0, which is for unknown, when not all are of chats."""
    counted = sessions.store.statistics(sessions.owner)
    are_chats = all(it.kind == "chat" for it in counted.counts)
    return counted.messages if are_chats else 0


def _write_to_stdout(lines: Iterator[bytes], safe: Callable[[str], str]) -> None:
    is_terminal = sys.stdout.isatty()
    for line in lines:
        if is_terminal:
            sys.stdout.write(safe(line.decode()))
        else:
            sys.stdout.buffer.write(line)


def _write_to_file(lines: Iterator[bytes], path: Path, done: Exported, total: int) -> None:
    with progress_bar("export", unit="messages") as advance, whole_file(path) as file:
        for number, line in enumerate(lines):
            file.write(line)
            if number % LINES_BETWEEN_LOOKS == 0:
                advance(done.messages, total)


@click.command("import")
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@common_options
@pass_settings
def import_command(settings: Settings, path: str) -> None:
    """Read sessions from JSON Lines.

    FILE is what `sapwood export` wrote; - is standard input. Messages that are there already, and
    equal, are skipped. If any differs, that is told before anything is written.

    \b
    Example:
      sapwood import support.jsonl
      zcat all.jsonl.gz | sapwood import -
    """
    from ...transfer import import_file

    with _opened_file(path) as file, _store_for(file, settings) as sessions:
        # It is read twice: once to check it, once to write what it says.
        size = 2 * file.seek(0, os.SEEK_END)
        with progress_bar("import", unit="bytes") as advance, held_interrupts() as let_through:

            def progress(position: int) -> None:
                let_through()
                advance(position, size)

            try:
                done = import_file(sessions.store, sessions.owner, file, progress)
            except BaseException as error:
                # What an import that ends early leaves behind.
                write_notes(getattr(error, "__notes__", ()))
                raise
    settings.output.answer(
        done,
        f"{counted(len(done.created), 'session')} created, {len(done.existing)} there already; "
        f"{counted(done.written, 'message')} written, {done.skipped} there already",
    )
    if not settings.json:
        write_notes(done.notes)


def _store_for(file: BinaryIO, settings: Settings) -> SessionManager:
    """Open the store; one that is not there yet is not made for a file that is wrong."""
    from ...transfer import check_alone

    database = settings.file()
    if database is not None and not database.exists():
        check_alone(file)
    return settings.open(create=True)


@contextmanager
def _opened_file(path: str) -> Iterator[BinaryIO]:
    """Open a file that can be read twice: what comes through a pipe is put aside first."""
    with sys.stdin.buffer if path == "-" else open(path, "rb") as source:  # noqa: PTH123
        if source.seekable():
            yield source
            return
        with tempfile.TemporaryFile() as spool:
            shutil.copyfileobj(source, spool)
            yield spool


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@common_options
@pass_settings
def copy_command(settings: Settings, source: str, target: str) -> None:
    """Copy sessions from one store to another.

    FROM and TO are paths or URLs, as --store takes them elsewhere. All owners are copied, or with
    --owner one of them. What is there already and equal is skipped; what differs is told before
    anything of that session is written. Each session is read on both sides when it is copied, and
    compared. After a kill the same command goes on.

    \b
    Example:
      sapwood copy sqlite:///agent.db postgresql://agent@db.example.com/agent
    """
    from ...transfer import check_owners, copy_store

    if settings.store is not None:
        raise UsageError("copy takes both stores as FROM and TO, and no --store", path="--store")
    owners = [settings.owner] if _names_an_owner(click.get_current_context()) else None
    with ExitStack() as stack:
        from_store = stack.enter_context(_opened_store(source, "FROM")).store
        # What is wrong is told before a file is made for the target.
        check_owners(from_store, owners)
        _refuse_same_file(source, target)
        to_store = stack.enter_context(_opened_store(target, "TO", create=True)).store
        advance = stack.enter_context(progress_bar("copy", unit="messages"))
        let_through = stack.enter_context(held_interrupts())
        listener = _copy_listener(settings.json, advance, let_through)
        copy_store(from_store, to_store, owners=owners, on_event=listener)


def _names_an_owner(context: click.Context) -> bool:
    """Whether --owner was given, before or after the command's name."""
    levels = (context, context.parent)
    sources = [it.get_parameter_source("owner") for it in levels if it is not None]
    return ParameterSource.COMMANDLINE in sources


def _opened_store(url: str, which: str, *, create: bool = False) -> SessionManager:
    settings = Settings()
    settings.store = url
    with _errors_naming(which):
        return settings.open(create=create, advice=f"{which} has to be a store that is there")


@contextmanager
def _errors_naming(which: str) -> Iterator[None]:
    """Name the one of two URLs that is wrong, in errors that are raised inside."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{which}: {error}", path=which) from error


def _refuse_same_file(source: str, target: str) -> None:
    """Refuse before the file is opened twice; other stores are told apart when they are open."""
    from ..._open import file_of

    one = file_of(source)
    with _errors_naming("TO"):
        other = file_of(target)
    if one and other and other.exists() and one.samefile(other):
        raise UsageError("FROM and TO are the same store: copy to another one", path="TO")


def _copy_listener(
    is_json: bool, advance: AdvanceBar, let_through: Callable[[], None]
) -> Callable[[CopyEvent], None]:
    """Return the function that shows a copy's events; Ctrl-C comes through between writes."""
    from ...transfer import CopyDone, CopyProgress, SessionCopied

    def show(event: CopyEvent) -> None:
        if isinstance(event, CopyProgress):
            advance((event.gone_over + event.verified) // 2, event.messages)
        if is_json:
            write_json_line(event)
        elif isinstance(event, SessionCopied):
            write_notes(f"owner {event.owner!r}, {text}" for text in event.notes)
        elif isinstance(event, CopyDone):
            Output().line(
                f"{counted(event.copied, 'session')} copied, {event.updated} updated, "
                f"{event.equal} there already; {counted(event.written, 'message')} written"
            )
        let_through()

    return show
