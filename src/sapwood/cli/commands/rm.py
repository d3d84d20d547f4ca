"""`sapwood rm`: delete sessions."""

from __future__ import annotations

import sys

import click

from ..completion import session_argument
from ..output import Output
from ..settings import common_options, settings_of
from ..text import clean


@click.command("rm")
@session_argument("names", nargs=-1, required=True)
@click.option("--yes", "-y", "is_sure", is_flag=True, help="Do not ask, also in a terminal.")
@common_options
@click.pass_context
def command(context: click.Context, names: tuple[str, ...], is_sure: bool) -> None:
    """Delete sessions.

    What forks of them stand on stays with the forks. In a terminal it asks first. All must be
    there, or none is deleted.

    \b
    Example:
      sapwood rm support second-try
    """
    settings = settings_of(context)
    names = tuple(dict.fromkeys(names))
    with settings.open() as sessions:
        messages = sum(sessions.get(name).record().messages for name in names)
        if not is_sure and sys.stdin.isatty():
            question = f"Delete {len(names)} session(s) with {messages} message(s)?"
            click.confirm(question, abort=True, err=True)
        for name in names:
            sessions.delete(name)
    output = Output()
    if settings.json:
        output.json({"deleted": names, "messages": messages})
    else:
        for name in names:
            output.line(f"deleted {clean(name)}")
