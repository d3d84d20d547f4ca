"""What commands have in common: the store, whose sessions, the form of answers, API keys."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .output import Output

if TYPE_CHECKING:
    from ..model import SessionPage
    from ..session import SessionManager

F = TypeVar("F", bound=Callable[..., Any])

OTHER_STORE = "name one with --store or SAPWOOD_STORE"
OTHER_OWNER = "--owner or SAPWOOD_OWNER names another owner"
KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
MOST_NAMES = 2_000
PAGE = 500


class Settings:
    """The options that every command takes, before or after its name."""

    def __init__(self) -> None:
        self.store: str | None = None
        self.search: str | None = None
        self.owner = os.environ.get("SAPWOOD_OWNER") or "default"
        self.json = False
        self.has_pager = True

    @property
    def output(self) -> Output:
        """Where the answer goes."""
        return Output(is_json=self.json)

    def file(self) -> Path | None:
        """Return the database's file; None where the store is none."""
        from .._open import file_of

        return file_of(self.store)

    def open(self, *, create: bool = False, advice: str = OTHER_STORE) -> SessionManager:
        """Open the store; a file that is not there is only made by a command that fills it."""
        from .._open import open
        from ..errors import NotFoundError

        file = None if create else self.file()
        if file is not None and not file.exists():
            raise NotFoundError(
                f"there is no database {str(file)!r}: {advice}", kind="store", id=str(file)
            )
        return open(self.store, owner=self.owner, search=self.search)


pass_settings = click.make_pass_decorator(Settings, ensure=True)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    # The same option may stand before and after the command's name: what is not given there
    # must not undo what was given here.
    if value is not None and parameter.name is not None:
        setattr(context.ensure_object(Settings), parameter.name, value)


def _set_colours(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    # In the environment, where all that draws looks for it.
    if value is not None:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
    if value in ("always", "never"):
        os.environ["FORCE_COLOR" if value == "always" else "NO_COLOR"] = "1"


_option = partial(click.option, expose_value=False, callback=_keep)
_OPTIONS = (
    _option(
        "--store",
        metavar="STORE",
        help="A file's path or a URL, as ./agent.db; without it SAPWOOD_STORE, or the user's own.",
    ),
    _option(
        "--search",
        metavar="URL",
        help="A search index attached to the store, as opensearch://host; or SAPWOOD_SEARCH.",
    ),
    _option(
        "--owner",
        metavar="NAME",
        help="Whose sessions; without it SAPWOOD_OWNER, or 'default'.",
    ),
    _option("--json", is_flag=True, default=None, is_eager=True, help="Answer in JSON."),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        callback=_set_colours,
        help="Whether to colour: auto, in a terminal.",
    ),
    _option(
        "--no-pager",
        "has_pager",
        flag_value=False,
        default=None,
        help="Never show long output a screen at a time.",
    ),
)


def common_options(function: F) -> F:
    """Add the options that every command takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def given_options(options: dict[str, Any]) -> list[str]:
    """Return the names of the options that were given: a number may be 0, a text empty."""
    return [name for name, value in options.items() if value is not None and value is not False]


def chosen_mode(given: Collection[str], modes: Sequence[str]) -> str | None:
    """Return the one given option of some that exclude each other."""
    chosen = [name for name in modes if name in given]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    return chosen[0] if chosen else None


def asked_kind(kind: str) -> str | None:
    """Return the kind of sessions that an option names; "all" is for every one."""
    return None if kind == "all" else kind


def kind_option(function: F) -> F:
    """Add the option that says of which kind sessions are."""
    words = "Those of this kind, 'chat' unless given; 'all' for every one."
    return click.option("--kind", default="chat", help=words)(function)


def iter_pages(sessions: SessionManager, **filters: Any) -> Iterator[SessionPage]:
    """Read sessions page by page, to the end."""
    while True:
        page = sessions.list_sessions(**filters)
        yield page
        if page.cursor is None:
            return
        filters["cursor"] = page.cursor


def session_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of sessions that begin so, the last active first: a shell completes them."""
    from ..errors import SapwoodError

    found: list[str] = []
    # A shell that asks for names has no use for errors.
    with (
        contextlib.suppress(SapwoodError),
        context.ensure_object(Settings).open() as sessions,
    ):
        for page in islice(iter_pages(sessions, kind=None, limit=PAGE), MOST_NAMES // PAGE):
            found += [it.id for it in page.sessions if it.id.startswith(incomplete)]
    return found


def session_argument(name: str = "session", **settings: Any) -> Callable[[F], F]:
    """Add an argument that names a session, or several, and that a shell can complete."""
    metavar = "SESSION" if settings.get("required", True) else "[SESSION]"
    if settings.get("nargs") == -1:
        metavar = "SESSION..." if settings.get("required") else "[SESSION]..."
    return click.argument(name, metavar=metavar, shell_complete=session_names, **settings)


def api_key_option(*providers: str) -> Callable[[F], F]:
    """Add the option that names another variable than those of some providers."""
    names = " or ".join(KEY_VARIABLES[it] for it in providers)
    what = f"The environment's variable that holds the key; {names}."
    return click.option("--api-key-env", metavar="VARIABLE", help=what)


def api_key_of(provider: str, base_url: str | None, variable: str | None) -> str:
    """Return the key; `UsageError` when there is none, unless the endpoint is one of the user's."""
    name = variable or KEY_VARIABLES[provider]
    key = os.environ.get(name)
    if not key and (variable is not None or base_url is None):
        raise click.UsageError(f"the environment has no {name}: put the key there")
    # An endpoint on the user's own machine wants none, and the SDKs insist on one.
    return key or "none"
