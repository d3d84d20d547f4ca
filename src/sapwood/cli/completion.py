"""Shell completion of session names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import click

from .settings import settings_of

F = TypeVar("F", bound=Callable[..., Any])

MOST_NAMES = 2_000
PAGE = 500


def session_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of sessions that begin so, the last active first."""
    from ..errors import SapwoodError

    found: list[str] = []
    # A shell that asks for names has no use for errors.
    with contextlib.suppress(SapwoodError), settings_of(context).open() as sessions:
        cursor = None
        for _ in range(MOST_NAMES // PAGE):
            page = sessions.list_sessions(limit=PAGE, cursor=cursor)
            found += [it.id for it in page.sessions if it.id.startswith(incomplete)]
            cursor = page.cursor
            if cursor is None:
                break
    return found


def note_names(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Note which sessions are meant: whose they are is told when one is not there."""
    settings = settings_of(context)
    settings.named += (value,) if isinstance(value, str) else tuple(value or ())
    return value


def session_argument(name: str = "session", **settings: Any) -> Callable[[F], F]:
    """Add an argument that names a session, or several, and that a shell can complete."""
    metavar = "SESSION" if settings.get("required", True) else "[SESSION]"
    if settings.get("nargs") == -1:
        metavar = "SESSION..." if settings.get("required") else "[SESSION]..."
    return click.argument(
        name, metavar=metavar, shell_complete=session_names, callback=note_names, **settings
    )
