"""`sapwood tail`: the change feed."""

from __future__ import annotations

import sys
import time

import click

from ..output import note
from ..settings import Settings, common_options, pass_settings, session_names


@click.command("tail")
@click.option("--follow", "-f", "is_following", is_flag=True, help="Go on with what comes.")
@click.option("--lines", "-n", type=click.IntRange(0), default=10, help="How many; 10.")
@click.option("--since", metavar="CURSOR", help="All since there; '' is the feed's beginning.")
@click.option(
    "--session", metavar="SESSION", shell_complete=session_names, help="Only this session's."
)
@click.option(
    "--interval", type=click.FloatRange(0.01), default=0.5, help="Seconds between looks; 0.5."
)
@common_options
@pass_settings
def tail_command(
    settings: Settings,
    is_following: bool,
    lines: int,
    since: str | None,
    session: str | None,
    interval: float,
) -> None:
    """Show the latest changes, and those to come.

    With --json each line has a cursor: --since it goes on from there, and misses nothing. What
    came after the line's own page may be shown once more.

    \b
    Example:
      sapwood tail -f --session support
    """
    from ..change_feed import ChangeFeed

    with settings.open() as sessions:
        feed = ChangeFeed(sessions, session, settings.output)
        if since is None:
            feed.show_last(lines)
        else:
            feed.show_since(since)
        while is_following:
            sys.stdout.flush()
            time.sleep(interval)
            feed.show_since(feed.cursor)
        if not settings.json:
            note(f"cursor {feed.cursor}")
