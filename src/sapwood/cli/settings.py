"""What is the same for all commands: which store, whose sessions, and in which form to answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..session import SessionManager

F = TypeVar("F", bound=Callable[..., Any])

OTHER_STORE = "name one with --store or SAPWOOD_STORE"
OTHER_OWNER = "--owner or SAPWOOD_OWNER names another owner"


class Settings:
    """The options that every command takes, before or after its name."""

    def __init__(self) -> None:
        self.store: str | None = None
        self.search: str | None = None
        self.owner = os.environ.get("SAPWOOD_OWNER") or "default"
        self.json = False
        self.named: tuple[str, ...] = ()
        """The sessions that the arguments name."""

    def file(self) -> Path | None:
        """Return the database's file; None where the store is none."""
        from .._open import file_of

        return file_of(self.store)

    def open(self, *, create: bool = False, advice: str = OTHER_STORE) -> SessionManager:
        """Open the store; a file that is not there is only made by a command that fills it."""
        from .._open import open

        if not create:
            self._refuse_missing(advice)
        return open(self.store, owner=self.owner, search=self.search)

    def _refuse_missing(self, advice: str) -> None:
        file = self.file()
        if file is not None and not file.exists():
            from ..errors import NotFoundError

            raise NotFoundError(
                f"there is no database {str(file)!r}: {advice}", kind="store", id=str(file)
            )


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    # The same option may stand before and after the command's name: what is not given there
    # must not undo what was given here.
    if value is not None and parameter.name is not None:
        setattr(context.ensure_object(Settings), parameter.name, value)


_OPTIONS = (
    click.option(
        "--store",
        metavar="URL",
        expose_value=False,
        callback=_keep,
        help="The store, as sqlite:///file.db; without it SAPWOOD_STORE, or the user's own.",
    ),
    click.option(
        "--search",
        metavar="URL",
        expose_value=False,
        callback=_keep,
        help="A search index attached to the store, as opensearch://host; or SAPWOOD_SEARCH.",
    ),
    click.option(
        "--owner",
        metavar="NAME",
        expose_value=False,
        callback=_keep,
        help="Whose sessions; without it SAPWOOD_OWNER, or 'default'.",
    ),
    click.option(
        "--json",
        is_flag=True,
        default=None,
        expose_value=False,
        callback=_keep,
        is_eager=True,
        help="Answer in JSON.",
    ),
)


def common_options(function: F) -> F:
    """Add the options that every command takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def settings_of(context: click.Context) -> Settings:
    """Return the options that every command takes."""
    return context.ensure_object(Settings)
