"""`sapwood fork`: a session that goes on from a message of another."""

from __future__ import annotations

import click

from ..completion import session_argument
from ..output import Output
from ..settings import common_options, settings_of
from ..text import clean


@click.command("fork")
@session_argument()
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--at", metavar="MESSAGE", help="The message to go on from; without it, the tip.")
@click.option("--detach", is_flag=True, help="Copy the path into a tree of its own.")
@click.option("--title", help="The new session's title.")
@common_options
@click.pass_context
def command(
    context: click.Context,
    session: str,
    name: str | None,
    at: str | None,
    detach: bool,
    title: str | None,
) -> None:
    """Make a session that goes on from a message of another.

    No message is copied, unless the fork is detached. Without a NAME it gets one, which is printed.

    \b
    Example:
      sapwood fork support second-try --at 06605b01fc495ac7
    """
    settings = settings_of(context)
    with settings.open() as sessions:
        new = sessions.get(session).fork(name, at, detach=detach, title=title)
        output = Output()
        if settings.json:
            from ..records import session_json

            output.json(session_json(new.record()))
        else:
            output.line(clean(new.id))
