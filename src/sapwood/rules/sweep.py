"""What a sweep does with one session, from its record and the time alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, NamedTuple

from ..model import (
    CHAT,
    CHAT_TYPE,
    PINNED,
    QuietLimit,
    QuietRule,
    SessionRecord,
    SweepPolicy,
)
from .states import is_closed
from .zones import last_daily_us


class SweepStep(NamedTuple):
    """The next thing that a sweep does with a session: end it, finish its ending, and so on."""

    action: Literal["end", "finish", "archive", "delete"]
    reason: Literal["timeout", "archive"] | None = None
    """Why it is ended."""


def next_step(policy: SweepPolicy, record: SessionRecord, now_us: int) -> SweepStep | None:
    """Return what a sweep does with a session now; None is nothing.

    One step at a time: decide again from the record as it is after it. An ending that was begun is
    finished whatever the policy says.
    """
    if record.state == "ending":
        return SweepStep("finish")
    if record.kind != CHAT or (policy.keep_pinned and PINNED in record.tags):
        return None
    if record.state == "archived":
        written_us = max(record.updated_us, record.active_us)
        return SweepStep("delete") if _is_over(policy.delete_after, written_us, now_us) else None
    is_old = _is_over(policy.archive_after, record.active_us, now_us)
    if is_closed(record.state):
        return SweepStep("archive") if is_old else None
    if is_old:
        return SweepStep("end", "archive")
    if is_quiet(limit_for(policy, record), record.active_us, now_us):
        return SweepStep("end", "timeout")
    return None


def limit_for(policy: SweepPolicy, record: SessionRecord) -> QuietLimit:
    """Return the limit that a session has: that of the most specific rule which is for it."""
    fitting = [rule for rule in policy.rules if _is_for(rule, record)]
    return max(fitting, key=_specificity).limit if fitting else policy.ends


def is_quiet(limit: QuietLimit, active_us: int, now_us: int) -> bool:
    """Whether a session that was active then has been quiet for as long as a limit says."""
    if _is_over(limit.idle, active_us, now_us):
        return True
    if limit.daily_at is None:
        return False
    return active_us < last_daily_us(limit.daily_at, limit.zone, now_us)


def _is_over(limit: timedelta | None, since_us: int, now_us: int) -> bool:
    return limit is not None and now_us - since_us >= limit // timedelta(microseconds=1)


def _is_for(rule: QuietRule, record: SessionRecord) -> bool:
    agent, channel = (*record.system.key, None, None)[:2]
    return (
        rule.agent in (None, agent)
        and rule.channel in (None, channel)
        and rule.chat_type in (None, record.attributes.get(CHAT_TYPE))
    )


def _specificity(rule: QuietRule) -> tuple[int, bool, bool, bool]:
    names = (rule.agent is not None, rule.channel is not None, rule.chat_type is not None)
    return (sum(names), *names)
