"""A hook that writes what was talked about into a markdown file for each day."""

from __future__ import annotations

import os
from pathlib import Path

from ...model import Message, Summary, datetime_of
from ..daily_entry import DailyEntry
from .hook_event import AsyncHookEvent

FEWEST = 3
LOOKED_AT = 50


class AsyncDailyLog:
    """Call it on a session's end: it adds an entry to `YYYY-MM-DD.md` in a folder.

    The day is that of the session's last activity, in UTC. A session of fewer than three messages
    is passed over. An ending that is told twice has one entry.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    async def __call__(self, event: AsyncHookEvent) -> None:
        """Write the entry, and see that it is on the disk."""
        last = await event.history(limit=LOOKED_AT)
        first = last if not last.more else await event.first(LOOKED_AT)
        if event.messages < FEWEST:
            return
        entry = DailyEntry(
            session=event.session,
            life=event.life,
            reason=event.reason or "ended",
            title=event.title,
            tags=_tags(event),
            messages=event.messages,
            began_at=datetime_of(event.created_us),
            ended_at=datetime_of(event.active_us),
            summary=next((it.text for it in last.entries if isinstance(it, Summary)), None),
            asked=_said(first.messages_only, "user"),
            answered=_said(last.messages_only[::-1], "assistant"),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{entry.ended_at:%Y-%m-%d}.md"
        if path.exists() and entry.mark in path.read_text("utf-8"):
            return
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(entry.markdown)
            file.flush()
            os.fsync(file.fileno())


def _said(messages: list[Message], role: str) -> str | None:
    return next((it.text for it in messages if it.role == role and it.text), None)


def _tags(event: AsyncHookEvent) -> list[str]:
    tags = ["session", event.reason or "ended", *event.tags]
    if event.key is not None:
        tags += [f"channel:{event.key.channel}", f"agent:{event.key.agent}"]
    return tags
