"""An entry of the daily log, as markdown."""

from __future__ import annotations

import unicodedata
from datetime import datetime

import msgspec

MOST_SHOWN = 200


class DailyEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the log says of a session that has ended."""

    session: str
    life: int
    reason: str
    title: str | None
    tags: list[str]
    messages: int
    began_at: datetime
    ended_at: datetime
    summary: str | None
    asked: str | None
    answered: str | None

    @property
    def mark(self) -> str:
        """What an entry is known again by, when its session's ending is told once more."""
        return f"- Session: `{self.session}`, life {self.life}\n"

    @property
    def markdown(self) -> str:
        """The entry."""
        minutes = (self.ended_at - self.began_at).total_seconds() / 60
        lines = [
            f"## {self.ended_at:%H:%M:%S} {_one_line(self.title or 'A conversation')}\n\n",
            self.mark,
            f"- Ended: {_one_line(self.reason)}\n",
            f"- Messages: {self.messages}, in {max(minutes, 0):.0f} minutes\n",
            f"- Tags: {', '.join(_one_line(tag) for tag in self.tags)}\n",
        ]
        if self.summary is not None:
            lines.append(f"\n### Summary\n\n{self.summary.strip()}\n")
        else:
            said = (("Asked", self.asked), ("Answered", self.answered))
            quoted = [f"- {who}: {shortened(text)}\n" for who, text in said if text]
            lines += ["\n### Highlights\n\n", *quoted] if quoted else []
        return "".join(lines) + "\n"


def shortened(text: str, most: int = MOST_SHOWN) -> str:
    """Return a text as one line of so many characters at most; no character is cut in two."""
    line = _one_line(text)
    if len(line) <= most:
        return line
    end = most - 1
    while end > 1 and _belongs_to_the_one_before(line[end]):
        end -= 1
    return line[:end].rstrip() + "…"


def _belongs_to_the_one_before(char: str) -> bool:
    """Whether a cut before this character would part it from what it changes."""
    joins = char in "\u200d\ufe0e\ufe0f" or "\U0001f3fb" <= char <= "\U0001f3ff"
    return joins or unicodedata.combining(char) != 0


def _one_line(text: str) -> str:
    return " ".join(text.split())
