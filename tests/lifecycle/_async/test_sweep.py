"""A sweep ends, archives and deletes what has been quiet, and nothing that somebody uses."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

import sapwood
from sapwood.errors import UsageError
from sapwood.model import QuietLimit, QuietRule, SessionKey, SweepPolicy
from sapwood.stores.base.queues import AsyncCallerQueues

Sessions = sapwood.AsyncSessionManager
IDLE = SweepPolicy(ends=QuietLimit(idle=timedelta(hours=1)))
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


async def _aged(sessions: Sessions, id: str, age_us: int, **fields: Any) -> sapwood.AsyncSession:
    """Make a session that was active so long ago."""
    chat = await sessions.session(id, **fields)
    record = await chat.record()
    await chat.update_record(active_us=record.created_us - age_us)
    return chat


async def _states(sessions: Sessions) -> dict[str, str]:
    page = await sessions.list_sessions(kind=None)
    return {it.id: it.state for it in page.sessions}


async def test_what_was_quiet_for_long_ends_with_a_timeout(sessions: Sessions) -> None:
    told: list[Any] = []
    sessions.with_hook(told.append, name="tell")
    await _aged(sessions, "old", 2 * HOUR_US)
    await _aged(sessions, "new", HOUR_US // 2)
    report = await sessions.sweep(IDLE)
    assert [(it.session, it.action, it.reason) for it in report.sessions] == [
        ("old", "end", "timeout")
    ]
    assert await _states(sessions) == {"old": "ended", "new": "active"}
    assert [it.reason for it in told] == ["timeout"]


async def test_by_default_sessions_are_archived_after_a_week_and_deleted_after_a_month(
    sessions: Sessions,
) -> None:
    await _aged(sessions, "a day", DAY_US)
    await _aged(sessions, "a week", 8 * DAY_US)
    await _aged(sessions, "ended", 8 * DAY_US)
    await sessions.end("ended")
    await sessions.sweep()
    assert await _states(sessions) == {
        "a day": "active",
        "a week": "archived",
        "ended": "archived",
    }
    now = SweepPolicy(delete_after=timedelta(microseconds=1))
    await sessions.sweep(now)
    assert await _states(sessions) == {"a day": "active"}


async def test_what_is_pinned_or_no_chat_is_left_alone(sessions: Sessions) -> None:
    await _aged(sessions, "pinned", 99 * DAY_US, tags=["pinned"])
    await _aged(sessions, "facts", 99 * DAY_US, kind="memory")
    assert (await sessions.sweep()).sessions == ()
    assert set((await _states(sessions)).values()) == {"active"}


async def test_a_session_in_a_turn_is_kept(sessions: Sessions) -> None:
    chat = await sessions.session("chat")
    async with chat.turn() as turn:
        await turn.append("user", "hello")
        await chat.update_record(active_us=1)
        report = await sessions.sweep()
        assert [it.outcome for it in report.sessions] == ["kept"]
        await turn.complete("assistant", "hi")
    assert (await chat.record()).state == "active"


async def test_a_session_that_is_written_to_meanwhile_is_kept(sessions: Sessions) -> None:
    chats = [await _aged(sessions, id, 2 * HOUR_US) for id in ("a", "b")]
    seen: list[str] = []

    async def write(event: Any) -> None:
        for chat in chats:
            if chat.id not in (event.session, *seen):
                await chat.append("user", "I am here")
        seen.append(event.session)

    # While the first one's hook is called, the user goes on in the other, which was listed before.
    sessions.with_hook(write, name="write")
    report = await sessions.sweep(IDLE)
    assert [it.outcome for it in report.sessions] == ["done", "kept"]


async def test_a_dry_run_changes_nothing(sessions: Sessions) -> None:
    await _aged(sessions, "old", 99 * DAY_US)
    report = await sessions.sweep(dry_run=True)
    assert [(it.session, it.action) for it in report.sessions] == [("old", "end")]
    assert report.dry_run
    assert await _states(sessions) == {"old": "active"}


async def test_what_is_current_and_ends_is_not_current_any_more(
    sessions: Sessions, key: SessionKey
) -> None:
    chat = await sessions.get_or_create(key)
    await chat.update_record(active_us=1)
    await sessions.sweep()
    assert await sessions.current(key) is None
    assert (await sessions.get_or_create(key)).id != chat.id


async def test_a_rule_for_a_channel_comes_before_what_is_for_all(sessions: Sessions) -> None:
    rule = QuietRule(channel="web", limit=QuietLimit())
    policy = SweepPolicy(ends=IDLE.ends, rules=(rule,))
    for channel in ("web", "telegram"):
        chat = await sessions.get_or_create(SessionKey("bot", channel, "bob"))
        record = await chat.record()
        await chat.update_record(active_us=record.created_us - 2 * HOUR_US)
    report = await sessions.sweep(policy)
    assert len(report.sessions) == 1
    web = await sessions.current(SessionKey("bot", "web", "bob"))
    assert web is not None


async def test_a_sweep_goes_over_all_owners(sessions: Sessions) -> None:
    for owner in ("bea", "cem"):
        await _aged(sessions.for_owner(owner), "old", 99 * DAY_US)
    report = await sessions.sweep(all_owners=True)
    assert sorted(it.owner for it in report.sessions) == ["bea", "cem"]
    for owner in ("bea", "cem"):
        assert await _states(sessions.for_owner(owner)) == {"old": "archived"}


async def test_a_sweep_stops_when_its_time_is_over_and_goes_on(sessions: Sessions) -> None:
    for number in range(3):
        await _aged(sessions, f"s{number}", 99 * DAY_US)
    assert (await sessions.sweep(limit_s=1e-9)).more
    assert set((await _states(sessions)).values()) == {"active"}
    report = await sessions.sweep(limit_s=600)
    assert not report.more
    assert report.count("end") == 3


async def test_a_sweep_finishes_endings_that_were_left(sessions: Sessions) -> None:
    fails = True
    told: list[str] = []

    def hook(event: Any) -> None:
        if fails:
            raise ValueError
        told.append(event.session)

    sessions.with_hook(hook, name="hook")
    await sessions.session("chat", kind="review")
    await sessions.end("chat")
    report = await sessions.sweep()
    assert [(it.action, it.outcome) for it in report.sessions] == [("finish", "waits")]
    fails = False
    [problem] = [it.key for it in await sessions.store.list_documents("ada", "hook-problem/")]
    await sessions.store.delete_document("ada", problem)
    report = await sessions.sweep()
    assert [(it.action, it.outcome) for it in report.sessions] == [("finish", "done")]
    assert told == ["chat"]


async def test_sweeping_goes_on_beside_the_calls_until_it_is_stopped(sessions: Sessions) -> None:
    swept = threading.Event()

    def hook(event: Any) -> None:
        swept.set()

    sessions.with_hook(hook, name="hook")
    await _aged(sessions, "old", 99 * DAY_US)
    sessions.start_sweeping(every_s=3600)
    while not swept.is_set():
        await AsyncCallerQueues.pause(0.01)
    report = await sessions.stop(timeout_s=50)
    assert report.left == ()
    assert report.finished == ("sweep",)
    assert await _states(sessions) == {"old": "archived"}
    assert (await sessions.stop()).finished == ()


async def test_a_sweep_leaves_the_owners_documents_alone(sessions: Sessions) -> None:
    await _aged(sessions, "old", 99 * DAY_US)
    await sessions.store.put_document("ada", "clock", b"mine")
    await sessions.sweep()
    kept = await sessions.store.find_document("ada", "clock")
    assert kept is not None
    assert kept.value == b"mine"


WRONG_POLICIES = [
    "daily",
    3,
    SweepPolicy(archive_after=timedelta(days=-7)),
    SweepPolicy(ends=QuietLimit(idle=timedelta(0))),
    SweepPolicy(ends=QuietLimit(daily_at=25)),
    SweepPolicy(ends=QuietLimit(daily_at=4, zone="Nowhere")),
]


@pytest.mark.parametrize("wrong", WRONG_POLICIES)
async def test_a_wrong_policy_ends_nothing(sessions: Sessions, wrong: Any) -> None:
    await sessions.session("chat")
    with pytest.raises(UsageError, match=r"policy|time zone"):
        await sessions.sweep(wrong)
    with pytest.raises(UsageError, match=r"policy|time zone"):
        sessions.start_sweeping(wrong)
    with pytest.raises(UsageError, match=r"policy|time zone"):
        await sessions.info("chat", policy=wrong)
    assert await _states(sessions) == {"chat": "active"}


@pytest.mark.parametrize("wrong", [0, -1.0, float("inf"), float("nan"), True, "5"])
async def test_a_time_is_more_than_nothing_and_has_an_end(sessions: Sessions, wrong: Any) -> None:
    with pytest.raises(UsageError, match="limit_s"):
        await sessions.sweep(limit_s=wrong)
    with pytest.raises(UsageError, match="every_s"):
        sessions.start_sweeping(every_s=wrong)
    with pytest.raises(UsageError, match="timeout_s"):
        await sessions.stop(timeout_s=wrong)
    with pytest.raises(UsageError, match="timeout_s"):
        sessions.with_hook(print, timeout_s=wrong)
