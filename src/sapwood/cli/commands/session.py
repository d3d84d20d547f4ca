"""`sapwood fork`, `rename` and `rm`: what is done to whole sessions."""

from __future__ import annotations

import sys

import click

from ...rules.wording import counted
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
    from ..short_ids import message_id, session_id

    with settings.open() as sessions:
        chat = sessions.get(session_id(sessions, session))
        at = at and message_id(sessions, chat, at)
        fork = chat.fork(name, at, detach=detach, title=title)
        record = session_json(fork.record()) if settings.output.is_json else None
    settings.output.answer(record, settings.output.id(fork.id))


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
    from ..short_ids import session_id, short

    with settings.open() as sessions:
        record = sessions.rename(session_id(sessions, session), title or None)
    line = f"{clean(short(record.id))}  {clean(record.title or '')}"
    settings.output.answer(session_json(record), line)


@click.command("rm")
@session_argument("names", nargs=-1, required=True)
@click.option("--yes", "-y", "is_sure", is_flag=True, help="Do not ask, also in a terminal.")
@common_options
@pass_settings
def rm_command(settings: Settings, names: tuple[str, ...], is_sure: bool) -> None:
    """Delete sessions.

    What forks of them stand on stays with the forks. In a terminal it asks first. All must be
    there, or none is deleted. The beginning of an id is enough, but that of a name somebody chose
    is not.

    \b
    Example:
      sapwood rm support second-try
    """
    from ..short_ids import session_id

    with settings.open() as sessions:
        names = tuple(dict.fromkeys(session_id(sessions, it, takes_names=False) for it in names))
        messages = sum(sessions.get(name).record().messages for name in names)
        if not is_sure and sys.stdin.isatty():
            what = f"{counted(len(names), 'session')} with {counted(messages, 'message')}"
            click.confirm(f"Delete {what}?", abort=True, err=True)
        for name in names:
            sessions.delete(name)
    lines = [f"deleted {settings.output.id(name)}" for name in names]
    settings.output.answer({"deleted": names, "messages": messages}, *lines)
