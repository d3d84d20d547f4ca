"""Lengths of time are read as people write them, and nothing else is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.rules.durations import MAX_DURATION, check_duration, parse_duration

COUNTS = st.none() | st.integers(0, 99)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_length_is_the_sum_of_its_parts(
    days: int | None, hours: int | None, minutes: int | None, seconds: int | None
) -> None:
    parts = zip((days, hours, minutes, seconds), "dhms", strict=True)
    text = "".join(f"{count}{unit}" for count, unit in parts if count is not None)
    length = timedelta(days=days or 0, hours=hours or 0, minutes=minutes or 0, seconds=seconds or 0)
    assume(length)
    assert parse_duration(text, "it") == length


@pytest.mark.parametrize(
    "text",
    ["", "30", "m", "-1m", "1.5h", "1m1h", "1 h", "0s", "36501d", "999999999d", "٣m", 30, None],
)
def test_what_is_no_length_is_refused_with_its_place(text: object) -> None:
    with pytest.raises(UsageError) as told:
        parse_duration(text, "policy.idle_after")
    assert told.value.path == "policy.idle_after"


@pytest.mark.parametrize("length", [timedelta(0), -timedelta(days=1), timedelta.max, 30, "30m"])
def test_a_length_is_more_than_nothing_and_less_than_a_century(length: object) -> None:
    with pytest.raises(UsageError):
        check_duration(length, "it")
    check_duration(MAX_DURATION, "it")
    check_duration(timedelta(microseconds=1), "it")
