"""The change feed, page by page, as JSON and as lines of text."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ..errors import NotFoundError
from ..model import Change, ChangeKind, datetime_of
from ..session import SessionManager
from .output import Output, clean, encode_json, pad, shorten
from .records import brief, iso, local
from .short_ids import short

PAGE = 200
COLOURS = {
    "append": "green",
    "update": "yellow",
    "delete": "red",
    "retire": "red",
    "record": "blue",
}

MessageTexts = dict[tuple[str, str | None], str]
PlacedChange = tuple[Change, str]
"""A change, and a cursor before it."""


class ChangeFeed:
    """Reads the change feed of an owner, or of one session, and writes what it reads."""

    def __init__(self, sessions: SessionManager, session: str | None, output: Output) -> None:
        self._sessions = sessions
        self._session = session
        self._output = output
        self.cursor = ""

    def show_since(self, cursor: str) -> None:
        """Write all changes after a cursor, up to now."""
        self.cursor = cursor
        for page in self._pages():
            self._write(page)

    def show_last(self, count: int) -> None:
        """Write the last few changes up to now; the feed is read forwards, and they are kept."""
        kept: deque[PlacedChange] = deque(maxlen=count)
        for page in self._pages():
            kept.extend(page)
        self._write(list(kept))

    def _pages(self) -> Iterator[list[PlacedChange]]:
        more = True
        while more:
            begin = self.cursor
            page = self._sessions.store.changes(self._sessions.owner, after=begin, limit=PAGE)
            self.cursor, more = page.cursor, page.more
            yield [(it, begin) for it in page.changes if self._session in (None, it.session)]

    def _write(self, changes: Sequence[PlacedChange]) -> None:
        if self._output.is_json:
            for number, (change, begin) in enumerate(changes, 1):
                cursor = self.cursor if number == len(changes) else begin
                sys.stdout.write(encode_json(_change_json(change, cursor)) + "\n")
            return
        texts = self._texts([change for change, _ in changes])
        for change, _ in changes:
            is_gone = change.kind is ChangeKind.RETIRE
            known = "" if is_gone else texts.get((change.session, change.message), "")
            self._write_line(change, known)

    def _record_text(self, session: str) -> str:
        """Say what a session's record is now; of one that is gone, nothing."""
        record = self._sessions.store.find_session(self._sessions.owner, session)
        if record is None:
            return ""
        state = f"{record.state}, closed" if record.closed else record.state
        return f"{clean(state)}  {clean(record.title)}" if record.title else clean(state)

    def _texts(self, changes: Sequence[Change]) -> MessageTexts:
        """Read what the changed messages and records say now, a session at a time."""
        ids: dict[str, list[str]] = {}
        for change in changes:
            if change.message is not None:
                ids.setdefault(change.session, []).append(change.message)
        of_records = {it.session for it in changes if it.kind is ChangeKind.RECORD}
        texts: MessageTexts = {(it, None): self._record_text(it) for it in of_records}
        for session, names in ids.items():
            # One that was deleted since is told without its text.
            with suppress(NotFoundError):
                found = self._sessions.store.find_messages(self._sessions.owner, session, names)
                texts |= {
                    (session, it.id): f"{clean(it.role)}: {brief(it)}"
                    for it in found
                    if it is not None
                }
        return texts

    def _write_line(self, change: Change, text: str) -> None:
        kind, output = change.kind.value, self._output
        place = "" if change.depth is None else f" #{change.depth}"
        at = local(datetime_of(change.at_us))
        head = f"{at}  {pad(kind, 6)}  {clean(short(change.session))}{place}"
        line = shorten(f"{head}  {text}" if text else head, output.width or 300)
        output.line(line.replace(kind, output.style(kind, fg=COLOURS.get(kind)), 1))


def _change_json(change: Change, cursor: str) -> dict[str, Any]:
    """Return a change; reading on from the cursor misses nothing that follows it."""
    return {
        "kind": change.kind.value,
        "session": change.session,
        "message": change.message,
        "depth": change.depth,
        "version": change.version,
        "at": iso(datetime_of(change.at_us)),
        "cursor": cursor,
    }
