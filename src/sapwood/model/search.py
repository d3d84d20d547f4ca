"""Searching: what to look for, and what was found."""

from __future__ import annotations

import msgspec

from .history import EntryRef
from .message import Position, _Dated
from .session import CHAT


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for, in all of an owner's sessions or in what one session sees.

    `text` is the query: words, "phrases", OR, NOT, prefix*, and the filters role:, title:, tag:,
    after: and before:. Every other character is searched for as it stands. Without a session, what
    sessions of one kind said is searched; None is for all kinds. A `cursor` goes on after the page
    of the same search that gave it.
    """

    text: str
    session: str | None = None
    kind: str | None = CHAT
    limit: int = 20
    cursor: str | None = None


class Hit(_Dated, msgspec.Struct, frozen=True, kw_only=True):
    """A message or a summary that was found.

    `session` is the one that wrote it, or if that is gone the oldest that stands on it. A summary
    has the role "summary" and the position of the last message that it covers. A higher `score`
    is better, within one answer; without an OR in the query all are the same. `marks` are the
    matches' (start, end) places in the snippet.
    """

    session: str
    entry: EntryRef
    role: str
    position: Position
    created_us: int
    score: float
    snippet: str
    marks: list[tuple[int, int]]


class Hits(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, the best first; the cursor is None when there is no more."""

    hits: list[Hit]
    cursor: str | None
