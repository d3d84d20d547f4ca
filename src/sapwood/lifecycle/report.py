"""What is told of a sweep, of a recovery, and of one session."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal

import msgspec

from ..model import (
    CHAT,
    SessionKey,
    SessionQuery,
    SessionRecord,
    SweepPolicy,
    TurnRecord,
    datetime_of,
)
from ..rules.zones import last_daily_us


class SweptSession(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep did with a session; in a dry run, what it would have done.

    "kept" is one that was due, and was used, changed or held by somebody else at that moment;
    "waits" one whose hooks have not all succeeded.
    """

    owner: str
    session: str
    title: str | None
    action: Literal["end", "finish", "archive", "delete"]
    outcome: Literal["done", "kept", "waits"] = "done"
    reason: str | None = None


class SweepReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep did. `more` says that its time was over before it had seen all."""

    sessions: tuple[SweptSession, ...] = ()
    more: bool = False
    dry_run: bool = False

    def count(self, action: str) -> int:
        """Count the sessions with which one thing was done."""
        return sum(it.action == action and it.outcome == "done" for it in self.sessions)


SweepProgress = Callable[[SweptSession], object]
"""Called with each session that was due."""


class RecoveryReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found when a program began again: sessions, by their ids."""

    interrupted: tuple[str, ...] = ()
    """Those whose open turn was marked: its process had died."""
    suspended: tuple[str, ...] = ()
    """Those that were suspended: a turn had died for the third time."""
    finished: tuple[str, ...] = ()
    """Those whose ending was finished."""


class FoundTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was looked up by a key, and the session that it is in."""

    session: str
    turn: TurnRecord


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it stands: its record, the state to show, and how full its context is."""

    record: SessionRecord
    key: SessionKey | None
    state: str
    budget: int
    ratio: float


def queries(policy: SweepPolicy, now_us: int) -> list[SessionQuery]:
    """Return what to list for a sweep, oldest first: no more than may be due."""
    page = SessionQuery(kind=CHAT, reverse=True, limit=200)
    replace = msgspec.structs.replace
    found = [replace(page, kind=None, state="ending")]
    for state in ("active", "suspended"):
        until_us = _quiet_until(policy, now_us)
        if until_us is not None:
            found.append(replace(page, state=state, active_until=datetime_of(max(until_us, 0))))
    ages = (("ended", policy.archive_after), ("archived", policy.delete_after))
    for state, age in ages:
        if age is not None:
            until_us = max(now_us - age // timedelta(microseconds=1) + 1, 0)
            found.append(replace(page, state=state, active_until=datetime_of(until_us)))
    return found


def _quiet_until(policy: SweepPolicy, now_us: int) -> int | None:
    """Return the time of activity from which on no open session is due."""
    limits = [policy.ends, *(rule.limit for rule in policy.rules)]
    ages = [policy.archive_after, *(it.idle for it in limits)]
    until = [now_us - age // timedelta(microseconds=1) + 1 for age in ages if age is not None]
    until += [
        last_daily_us(it.daily_at, it.zone, now_us) for it in limits if it.daily_at is not None
    ]
    return max(until, default=None)
