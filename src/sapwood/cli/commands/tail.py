"""`sapwood tail`: the change feed."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING

import click

from ..completion import session_names
from ..output import Output, encode_json, note
from ..settings import common_options, settings_of

if TYPE_CHECKING:
    from ...model import Change, Changes
    from ...session import SessionManager

PAGE = 200


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
@click.pass_context
def command(
    context: click.Context,
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
    settings = settings_of(context)
    with settings.open() as sessions:
        feed = _Feed(sessions, session, settings.json)
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


class _Feed:
    """Reads the change feed page by page, and writes what it reads."""

    def __init__(self, sessions: SessionManager, session: str | None, is_json: bool) -> None:
        self._sessions = sessions
        self._session = session
        self._is_json = is_json
        self._output = Output()
        self.cursor = ""

    def show_since(self, cursor: str) -> None:
        """Write all changes after a cursor, up to now."""
        self.cursor = cursor
        while True:
            begin = self.cursor
            page = self._page()
            self._write([(change, begin) for change in self._wanted(page)], page.cursor)
            if not page.more:
                return

    def show_last(self, count: int) -> None:
        """Write the last few changes up to now; the feed is read forwards, and they are kept."""
        kept: deque[tuple[Change, str]] = deque(maxlen=count)
        while True:
            begin = self.cursor
            page = self._page()
            kept.extend((change, begin) for change in self._wanted(page))
            if not page.more:
                break
        self._write(list(kept), self.cursor)

    def _page(self) -> Changes:
        store, owner = self._sessions.store, self._sessions.owner
        page = store.changes(owner, after=self.cursor, limit=PAGE)
        self.cursor = page.cursor
        return page

    def _wanted(self, page: Changes) -> list[Change]:
        return [it for it in page.changes if self._session in (None, it.session)]

    def _write(self, changes: list[tuple[Change, str]], end: str) -> None:
        from ..change_output import change_json, texts_of, write_change

        if self._is_json:
            for number, (change, begin) in enumerate(changes, 1):
                cursor = end if number == len(changes) else begin
                sys.stdout.write(encode_json(change_json(change, cursor)) + "\n")
            return
        texts = texts_of(self._sessions, [change for change, _ in changes])
        for change, _ in changes:
            write_change(self._output, change, texts.get((change.session, change.message), ""))
