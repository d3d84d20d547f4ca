"""`sapwood rename`: another title for a session."""

from __future__ import annotations

import click

from ..completion import session_argument
from ..output import Output
from ..settings import common_options, settings_of
from ..text import clean


@click.command("rename")
@session_argument()
@click.argument("title")
@common_options
@click.pass_context
def command(context: click.Context, session: str, title: str) -> None:
    """Give a session another title.

    An empty TITLE takes it away. The session's id, by which all else knows it, stays.

    \b
    Example:
      sapwood rename support "The lost parcel"
    """
    settings = settings_of(context)
    with settings.open() as sessions:
        record = sessions.get(session).update_record(title=title or None)
    output = Output()
    if settings.json:
        from ..records import session_json

        output.json(session_json(record))
    else:
        output.line(f"{clean(record.id)}  {clean(record.title or '')}")
