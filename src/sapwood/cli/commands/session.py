"""`sapwood fork`, `rename` and `rm`: what is done to whole sessions."""

from __future__ import annotations

import sys

import click

from ..output import clean
from ..settings import Settings, common_options, pass_settings, session_argument


@click.command("fork")
@session_argument()
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--at", metavar="MESSAGE", help="The message to go on from; without it, the tip.")
@click.option("--detach", is_flag=True, help="Copy the path into a tree of its own.")
@click.option("--title", help="The new session's title.")
@common_options
@pass_settings
def fork_command(
    settings: Settings,
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
    from ..records import session_json

    with settings.open() as sessions:
        fork = sessions.get(session).fork(name, at, detach=detach, title=title)
        record = session_json(fork.record()) if settings.output.is_json else None
    settings.output.answer(record, clean(fork.id))


@click.command("rename")
@session_argument()
@click.argument("title")
@common_options
@pass_settings
def rename_command(settings: Settings, session: str, title: str) -> None:
    """Change a session's title.

    An empty TITLE takes it away. The session's id, by which all else knows it, stays.

    \b
    Example:
      sapwood rename support "The lost parcel"
    """
    from ..records import session_json

    with settings.open() as sessions:
        record = sessions.rename(session, title or None)
    line = f"{clean(record.id)}  {clean(record.title or '')}"
    settings.output.answer(session_json(record), line)


@click.command("rm")
@session_argument("names", nargs=-1, required=True)
@click.option("--yes", "-y", "is_sure", is_flag=True, help="Do not ask, also in a terminal.")
@common_options
@pass_settings
def rm_command(settings: Settings, names: tuple[str, ...], is_sure: bool) -> None:
    """Delete sessions.

    What forks of them stand on stays with the forks. In a terminal it asks first. All must be
    there, or none is deleted.

    \b
    Example:
      sapwood rm support second-try
    """
    names = tuple(dict.fromkeys(names))
    with settings.open() as sessions:
        messages = sum(sessions.get(name).record().messages for name in names)
        if not is_sure and sys.stdin.isatty():
            question = f"Delete {len(names)} session(s) with {messages} message(s)?"
            click.confirm(question, abort=True, err=True)
        for name in names:
            sessions.delete(name)
    lines = [f"deleted {clean(name)}" for name in names]
    settings.output.answer({"deleted": names, "messages": messages}, *lines)
