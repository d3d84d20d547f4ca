"""A policy is read from a configuration's values; what is wrong is told with its place."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import QuietLimit, QuietRule, SweepPolicy
from sapwood.rules.sweep_policy import check_policy, policy_from

GIVEN = {
    "idle_after": "15m",
    "ends": {"idle": "24h", "daily_at": 4, "zone": "Europe/Berlin"},
    "rules": [
        {"channel": "webhook"},
        {"agent": "support", "chat_type": "group", "idle": "1h30m"},
    ],
    "archive_after": "14d",
    "delete_after": None,
    "keep_pinned": False,
}


def test_nothing_given_is_the_default() -> None:
    assert policy_from({}) == SweepPolicy()
    assert policy_from({"ends": None}) == SweepPolicy()


def test_what_is_given_is_read() -> None:
    hours = timedelta(hours=1)
    assert policy_from(GIVEN) == SweepPolicy(
        idle_after=timedelta(minutes=15),
        ends=QuietLimit(idle=24 * hours, daily_at=4, zone="Europe/Berlin"),
        rules=(
            QuietRule(limit=QuietLimit(), channel="webhook"),
            QuietRule(limit=QuietLimit(idle=1.5 * hours), agent="support", chat_type="group"),
        ),
        archive_after=timedelta(days=14),
        delete_after=None,
        keep_pinned=False,
    )


def test_reading_changes_nothing_that_was_given() -> None:
    before = msgspec.json.encode(GIVEN)
    policy_from(GIVEN)
    assert msgspec.json.encode(GIVEN) == before


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ([], "policy"),
        ({"archive": "7d"}, "policy.archive"),
        ({"idle_after": 30}, "policy.idle_after"),
        ({"idle_after": None}, "policy.idle_after"),
        ({"archive_after": "a week"}, "policy.archive_after"),
        ({"keep_pinned": "yes"}, "policy.keep_pinned"),
        ({"ends": "24h"}, "policy.ends"),
        ({"ends": {"idle": "0m"}}, "policy.ends.idle"),
        ({"ends": {"hour": 4}}, "policy.ends.hour"),
        ({"ends": {"daily_at": 24}}, "policy.ends.daily_at"),
        ({"ends": {"daily_at": "4"}}, "policy.ends.daily_at"),
        ({"ends": {"daily_at": True}}, "policy.ends.daily_at"),
        ({"ends": {"daily_at": 4, "zone": "Berlin"}}, "policy.ends.zone"),
        ({"rules": {"agent": "a"}}, "policy.rules"),
        ({"rules": ["a"]}, "policy.rules[0]"),
        ({"rules": [{"idle": "1h"}]}, "policy.rules[0]"),
        ({"rules": [{"agent": "a"}, {"agent": 7}]}, "policy.rules[1].agent"),
        ({"rules": [{"agent": "a"}, {"channel": ""}]}, "policy.rules[1].channel"),
        ({"rules": [{"agent": "a", "idle": "x"}]}, "policy.rules[0].idle"),
        ({"rules": [{"agent": "a"}, {"agent": "a", "idle": "1h"}]}, "policy.rules[1]"),
        ({"rules": [{"agent": "a", "limit": {}}]}, "policy.rules[0].limit"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(wrong: Any, place: str) -> None:
    with pytest.raises(UsageError) as told:
        policy_from(wrong)
    assert told.value.path == place
    assert place in str(told.value) or "time zone" in str(told.value)


def test_a_misspelt_field_is_told_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match="did you mean 'archive_after'"):
        policy_from({"archive_afer": "7d"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 30) | st.sampled_from(["7d", "UTC", "a", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["idle", "daily_at", "zone", "agent", "channel", "chat_type", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from([*SweepPolicy.__struct_fields__, "x"])


@given(st.dictionaries(FIELDS, JSON, max_size=4) | JSON)
def test_any_json_is_a_policy_or_told_to_be_none(value: Any) -> None:
    try:
        policy = policy_from(value)
    except UsageError as told:
        where = told.path
        assert where.startswith("policy")
        return
    check_policy(policy)


@pytest.mark.parametrize(
    "policy",
    [
        None,
        SweepPolicy(ends=None),  # type: ignore[arg-type]
        SweepPolicy(rules=[]),  # type: ignore[arg-type]
        SweepPolicy(archive_after=timedelta(0)),
        SweepPolicy(idle_after=30),  # type: ignore[arg-type]
        SweepPolicy(rules=(QuietLimit(),)),  # type: ignore[arg-type]
    ],
)
def test_a_policy_that_was_made_wrong_is_refused(policy: Any) -> None:
    with pytest.raises(UsageError):
        check_policy(policy)
