"""What a sweep does with a session follows from its record, the policy and the time alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model import (
    CHAT_TYPE,
    PINNED,
    ROOT,
    QuietLimit,
    QuietRule,
    SessionRecord,
    SweepPolicy,
    SystemFields,
    microseconds_of,
)
from sapwood.rules.states import END_REASONS, check_transition
from sapwood.rules.sweep import SweepStep, is_quiet, limit_for, next_step

NOW = microseconds_of(datetime(2026, 3, 10, 12, tzinfo=UTC))
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
NEVER = SweepPolicy(archive_after=None, delete_after=None)


def us(length: timedelta) -> int:
    return length // timedelta(microseconds=1)


def a_record(quiet: timedelta = timedelta(0), **fields: Any) -> SessionRecord:
    """Give a record of a session that was last active, and written, so long ago."""
    told: dict[str, Any] = {
        "id": "s",
        "tip": ROOT,
        "tip_position": None,
        "title": None,
        "kind": "chat",
        "state": "active",
        "tags": [],
        "attributes": {},
        "budget": None,
        "model": None,
        "source": None,
        "end_reason": None,
        "closed": False,
        "system": SystemFields(),
        "parent": None,
        "forked_at": None,
        "messages": 0,
        "context_tokens": 0,
        "version": 1,
        "created_us": 0,
        "active_us": NOW - us(quiet),
        "updated_us": NOW - us(quiet),
    }
    return SessionRecord(**{**told, **fields})


def of_key(*key: str, chat_type: str | None = None) -> SessionRecord:
    attributes = {} if chat_type is None else {CHAT_TYPE: chat_type}
    return a_record(system=SystemFields(key=key), attributes=attributes)


STATES = st.sampled_from(["active", "suspended", "ending", "ended", "archived"])
LENGTHS = st.sampled_from([timedelta(0), MINUTE, HOUR, DAY, 6 * DAY, 7 * DAY, 30 * DAY, 90 * DAY])
LIMITS = st.builds(
    QuietLimit, idle=st.none() | st.sampled_from([MINUTE, HOUR]), daily_at=st.none() | st.just(4)
)
POLICIES = st.builds(
    SweepPolicy,
    ends=LIMITS,
    archive_after=st.none() | st.sampled_from([DAY, 7 * DAY]),
    delete_after=st.none() | st.sampled_from([DAY, 30 * DAY]),
    keep_pinned=st.booleans(),
)


@pytest.mark.parametrize(
    ("state", "quiet", "step"),
    [
        ("active", 7 * DAY - timedelta(microseconds=1), None),
        ("active", 7 * DAY, SweepStep("end", "archive")),
        ("suspended", 7 * DAY, SweepStep("end", "archive")),
        ("ended", 6 * DAY, None),
        ("ended", 7 * DAY, SweepStep("archive")),
        ("archived", 29 * DAY, None),
        ("archived", 30 * DAY, SweepStep("delete")),
        ("ending", timedelta(0), SweepStep("finish")),
    ],
)
def test_by_default_what_is_quiet_is_archived_and_then_deleted(
    state: str, quiet: timedelta, step: SweepStep | None
) -> None:
    assert next_step(SweepPolicy(), a_record(quiet, state=state), NOW) == step


@pytest.mark.parametrize("state", ["active", "suspended"])
def test_what_is_quiet_for_its_limit_is_ended_by_timeout(state: str) -> None:
    policy = SweepPolicy(ends=QuietLimit(idle=HOUR))
    record = a_record(HOUR, state=state)
    assert next_step(policy, record, NOW) == SweepStep("end", "timeout")
    assert next_step(policy, record, NOW - 1) is None


@given(POLICIES, STATES, LENGTHS, LENGTHS, st.booleans())
def test_a_step_is_one_that_the_table_allows(
    policy: SweepPolicy, state: str, quiet: timedelta, written: timedelta, is_pinned: bool
) -> None:
    record = a_record(
        quiet, state=state, updated_us=NOW - us(written), tags=[PINNED] if is_pinned else []
    )
    step = next_step(policy, record, NOW)
    if step is None:
        return
    if step.action == "end":
        check_transition(state, "ending", "end")
        assert step.reason in END_REASONS
    elif step.action == "finish":
        check_transition(state, "ended", "hooks ran")
    elif step.action == "archive":
        check_transition(state, "archived", "archive")
    else:
        assert state == "archived"


@given(POLICIES, STATES, LENGTHS)
def test_a_pinned_session_is_kept_but_its_ending_is_finished(
    policy: SweepPolicy, state: str, quiet: timedelta
) -> None:
    step = next_step(policy, a_record(quiet, state=state, tags=["x", PINNED]), NOW)
    if policy.keep_pinned:
        assert step == (SweepStep("finish") if state == "ending" else None)
    else:
        assert step == next_step(policy, a_record(quiet, state=state), NOW)


@given(POLICIES, STATES, LENGTHS, st.sampled_from(["memory", "review", "checkpoint"]))
def test_what_is_no_chat_is_kept(
    policy: SweepPolicy, state: str, quiet: timedelta, kind: str
) -> None:
    step = next_step(policy, a_record(quiet, state=state, kind=kind), NOW)
    assert step == (SweepStep("finish") if state == "ending" else None)


@given(STATES, LENGTHS)
def test_a_policy_of_never_does_nothing(state: str, quiet: timedelta) -> None:
    step = next_step(NEVER, a_record(quiet, state=state), NOW)
    assert step == (SweepStep("finish") if state == "ending" else None)


@given(POLICIES, st.sampled_from(["active", "suspended", "ended"]), LENGTHS, LENGTHS)
def test_what_is_written_beside_the_conversation_does_not_keep_it_alive(
    policy: SweepPolicy, state: str, quiet: timedelta, written: timedelta
) -> None:
    record = a_record(quiet, state=state)
    touched = a_record(quiet, state=state, updated_us=NOW - us(written))
    assert next_step(policy, touched, NOW) == next_step(policy, record, NOW)


def test_an_archived_session_is_kept_for_the_whole_time_after_it_was_archived() -> None:
    late = a_record(365 * DAY, state="archived", updated_us=NOW - us(DAY))
    assert next_step(SweepPolicy(), late, NOW) is None
    assert next_step(SweepPolicy(), late, NOW + us(29 * DAY)) == SweepStep("delete")
    active = a_record(DAY, state="archived", updated_us=NOW - us(365 * DAY))
    assert next_step(SweepPolicy(), active, NOW) is None


@given(POLICIES, STATES, st.integers(1, 400))
def test_activity_that_lies_ahead_is_no_quiet(policy: SweepPolicy, state: str, days: int) -> None:
    step = next_step(policy, a_record(-days * DAY, state=state), NOW)
    assert step == (SweepStep("finish") if state == "ending" else None)


@given(POLICIES, STATES, LENGTHS, LENGTHS)
def test_what_is_due_stays_due(
    policy: SweepPolicy, state: str, quiet: timedelta, later: timedelta
) -> None:
    record = a_record(quiet, state=state)
    if next_step(policy, record, NOW) is not None:
        assert next_step(policy, record, NOW + us(later)) is not None


@pytest.mark.parametrize(
    ("quiet", "limit", "is_over"),
    [
        (23 * HOUR, QuietLimit(), False),
        (23 * HOUR, QuietLimit(idle=DAY), False),
        (DAY, QuietLimit(idle=DAY), True),
        (8 * HOUR, QuietLimit(daily_at=4), False),
        (8 * HOUR + MINUTE, QuietLimit(daily_at=4), True),
        (9 * HOUR, QuietLimit(daily_at=4, idle=DAY), True),
        (7 * HOUR, QuietLimit(daily_at=4, idle=HOUR), True),
        (7 * HOUR, QuietLimit(daily_at=4, idle=DAY), False),
        # At noon in London it is nine in the evening in Tokyo.
        (17 * HOUR, QuietLimit(daily_at=4, zone="Asia/Tokyo"), False),
        (18 * HOUR, QuietLimit(daily_at=4, zone="Asia/Tokyo"), True),
    ],
)
def test_whichever_limit_comes_first_ends_it(
    quiet: timedelta, limit: QuietLimit, is_over: bool
) -> None:
    assert is_quiet(limit, NOW - us(quiet), NOW) == is_over


NAMES = st.none() | st.sampled_from("ab")
RULES = st.lists(
    st.builds(
        QuietRule,
        limit=st.integers(1, 50).map(lambda minutes: QuietLimit(idle=minutes * MINUTE)),
        agent=NAMES,
        channel=NAMES,
        chat_type=NAMES,
    ),
    max_size=6,
    unique_by=lambda rule: (rule.agent, rule.channel, rule.chat_type),
).map(tuple)
# From the most specific to the least: which of agent, channel and chat type a rule names.
ORDER = ["111", "110", "101", "011", "100", "010", "001", "000"]


@given(RULES, st.sampled_from("ab"), st.sampled_from("ab"), NAMES)
def test_the_most_specific_rule_wins(
    rules: tuple[QuietRule, ...], agent: str, channel: str, chat_type: str | None
) -> None:
    policy = SweepPolicy(rules=rules, ends=QuietLimit(idle=99 * MINUTE))
    named = {(rule.agent, rule.channel, rule.chat_type): rule.limit for rule in rules}
    expected = policy.ends
    for which in reversed(ORDER):
        values = zip(which, (agent, channel, chat_type), strict=True)
        names = tuple(value if flag == "1" else None for flag, value in values)
        # A session of no type is for no rule that names one.
        if which[2] == "0" or chat_type is not None:
            expected = named.get(names, expected)
    assert limit_for(policy, of_key(agent, channel, "p", chat_type=chat_type)) == expected


def test_a_session_without_a_key_is_for_no_rule_of_an_agent_or_channel() -> None:
    rule = QuietLimit(idle=MINUTE)
    policy = SweepPolicy(
        rules=(QuietRule(limit=rule, agent="a"), QuietRule(limit=rule, channel="b"))
    )
    assert limit_for(policy, a_record()) == policy.ends
    assert limit_for(policy, of_key("a")) == rule
