"""A bar or a sign while work is long: on a terminal only, and beside the answer, not in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AdvanceBar = Callable[[int, int], None]
"""Takes how much is done, and of how much; 0 of an unknown amount."""


@contextmanager
def progress_bar(what: str, *, unit: str, is_wanted: bool = True) -> Iterator[AdvanceBar]:
    """Show how far the work has come."""
    if not is_wanted or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None, figures="")

        def advance(done: int, total: int) -> None:
            figures = f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}"
            bar.update(task, completed=done, total=total or None, figures=figures)

        yield advance


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
