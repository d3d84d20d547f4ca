"""What a sweep does with sessions that have been quiet, and after how long."""

from __future__ import annotations

from datetime import timedelta

import msgspec

PINNED = "pinned"
"""The tag of a session that no sweep ends, archives or deletes."""
CHAT_TYPE = "chat_type"
"""The attribute that says what kind of chat a session is: "direct", "group" or another name."""


class QuietLimit(msgspec.Struct, frozen=True, kw_only=True):
    """When a quiet session ends: after a time, daily, at whichever comes first, or never.

    `daily_at` is an hour from 0 to 23 in the time zone `zone`. In the night when that hour is left
    out, it is the moment when the clocks go forward; when it comes twice, the first one.
    """

    idle: timedelta | None = None
    daily_at: int | None = None
    zone: str = "UTC"


class QuietRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions have a limit of their own: of an agent, a channel, a kind of chat, or all."""

    limit: QuietLimit
    agent: str | None = None
    channel: str | None = None
    chat_type: str | None = None


class SweepPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When sessions end, are archived and deleted; None is never.

    `idle_after` is when an active session is shown as idle. `ends` is when one is ended with the
    reason "timeout", unless a rule is for it: of those the most specific, which is the one that
    names most, and among these agent before channel before kind of chat. `archive_after` counts
    from its last activity, `delete_after` from when the archived session was last written to. With
    `keep_pinned` those with the tag "pinned" are left alone. Sessions that are no chat always are.
    """

    idle_after: timedelta = timedelta(minutes=30)
    ends: QuietLimit = QuietLimit()
    rules: tuple[QuietRule, ...] = ()
    archive_after: timedelta | None = timedelta(days=7)
    delete_after: timedelta | None = timedelta(days=30)
    keep_pinned: bool = True
