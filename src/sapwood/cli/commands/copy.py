"""`sapwood copy`: from any store to any other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..interrupts import held_interrupts
from ..output import Output, encode_json, note
from ..progress import AdvanceBar, progress_bar
from ..settings import Settings, common_options, settings_of
from ..text import clean

if TYPE_CHECKING:
    from ...session import SessionManager
    from ...transfer import CopyDone, CopyEvent


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@common_options
@click.pass_context
def command(context: click.Context, source: str, target: str) -> None:
    """Copy sessions from one store to another.

    FROM and TO are URLs, as --store takes them elsewhere. All owners are copied, or with --owner
    one of them. What is there already and equal is skipped; what differs is told before anything
    of that session is written. Each session is read on both sides when it is copied, and compared.
    After a kill the same command goes on.

    \b
    Example:
      sapwood copy sqlite:///agent.db postgresql://agent@db.example.com/agent
    """
    from ...transfer import check_owners, copy_store

    settings = settings_of(context)
    _refuse_store(settings)
    owners = [settings.owner] if _names_an_owner(context) else None
    with ExitStack() as stack:
        from_store = stack.enter_context(_opened(source, "FROM")).store
        # What is wrong is told before a file is made for the target.
        check_owners(from_store, owners)
        _refuse_same_file(source, target)
        to_store = stack.enter_context(_opened(target, "TO", create=True)).store
        advance = stack.enter_context(progress_bar("copy", unit="messages"))
        let_through = stack.enter_context(held_interrupts())
        tell = _teller(settings.json, advance, let_through)
        copy_store(from_store, to_store, owners=owners, on_event=tell)


def _refuse_store(settings: Settings) -> None:
    from ...errors import UsageError

    if settings.store is not None:
        raise UsageError("copy takes both stores as FROM and TO, and no --store", path="--store")


def _names_an_owner(context: click.Context) -> bool:
    """Whether --owner was given, before or after the command's name."""
    levels = (context, context.parent)
    sources = [it.get_parameter_source("owner") for it in levels if it is not None]
    return ParameterSource.COMMANDLINE in sources


def _opened(url: str, which: str, *, create: bool = False) -> SessionManager:
    settings = Settings()
    settings.store = url
    with _saying(which):
        return settings.open(create=create, advice=f"{which} has to be a store that is there")


@contextmanager
def _saying(which: str) -> Iterator[None]:
    """Name the one of two URLs that is wrong, in errors that are raised inside."""
    from ...errors import UsageError

    try:
        yield
    except UsageError as error:
        raise UsageError(f"{which}: {error}", path=which) from error


def _refuse_same_file(source: str, target: str) -> None:
    """Refuse before the file is opened twice; other stores are told apart when they are open."""
    from ..._open import file_of
    from ...errors import UsageError

    one = file_of(source)
    with _saying("TO"):
        other = file_of(target)
    if one and other and other.exists() and one.samefile(other):
        raise UsageError("FROM and TO are the same store: copy to another one", path="TO")


def _teller(
    is_json: bool, advance: AdvanceBar, let_through: Callable[[], None]
) -> Callable[[CopyEvent], None]:
    """Return the function that shows a copy's events; Ctrl-C comes through between writes."""
    from ...transfer import CopyDone, CopyProgress, SessionCopied

    def tell(event: CopyEvent) -> None:
        if isinstance(event, CopyProgress):
            advance((event.gone_over + event.verified) // 2, event.messages)
        if is_json:
            sys.stdout.write(encode_json(event) + "\n")
            sys.stdout.flush()
        elif isinstance(event, SessionCopied):
            for text in event.notes:
                note(f"note: {clean(f'owner {event.owner!r}, {text}')}")
        elif isinstance(event, CopyDone):
            _report(event)
        let_through()

    return tell


def _report(done: CopyDone) -> None:
    Output().line(
        f"{done.copied} sessions copied, {done.updated} updated, {done.equal} there already; "
        f"{done.written} messages written"
    )
