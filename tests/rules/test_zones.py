"""A daily hour comes once on each day, also on those when the clocks are changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import datetime_of, microseconds_of
from sapwood.rules.zones import last_daily_us, zone_of

ZONES = [
    "America/New_York",
    "America/Santiago",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "UTC",
]
BERLIN = "Europe/Berlin"
START = datetime(2025, 1, 1, tzinfo=UTC)
MINUTES = st.integers(0, 3 * 365 * 24 * 60).map(lambda count: START + timedelta(minutes=count))
FORWARD = datetime(2026, 3, 29, tzinfo=UTC)
BACK = datetime(2026, 10, 25, tzinfo=UTC)


def first_moments(hour: int, zone: str, now: datetime) -> dict[date, datetime]:
    """Walk through three days; give for each local day when its clock first was at the hour."""
    clock, found = ZoneInfo(zone), dict[date, datetime]()
    moment = now.replace(minute=0) - timedelta(days=3)
    while moment <= now:
        local = moment.astimezone(clock)
        if local.hour >= hour:
            found.setdefault(local.date(), moment)
        moment += timedelta(minutes=15)
    # The walk began within its first day, of which it may have missed the moment.
    found.pop(min(found))
    return found


@given(st.integers(0, 23), st.sampled_from(ZONES), MINUTES)
@example(2, BERLIN, FORWARD + timedelta(hours=1))
@example(2, BERLIN, FORWARD + timedelta(minutes=59))
@example(2, BERLIN, BACK + timedelta(hours=1, minutes=30))
@example(2, BERLIN, BACK + timedelta(minutes=15))
@example(3, BERLIN, FORWARD + timedelta(hours=1))
@example(0, "America/Santiago", datetime(2026, 9, 6, 5, tzinfo=UTC))
def test_the_last_daily_moment_is_when_the_clock_first_showed_the_hour(
    hour: int, zone: str, now: datetime
) -> None:
    last = datetime_of(last_daily_us(hour, zone, microseconds_of(now)))
    assert last == max(first_moments(hour, zone, now).values())


@given(st.integers(0, 23), st.sampled_from(ZONES), MINUTES)
def test_the_last_daily_moment_is_its_own_and_not_that_of_just_before(
    hour: int, zone: str, now: datetime
) -> None:
    last = last_daily_us(hour, zone, microseconds_of(now))
    assert last_daily_us(hour, zone, last) == last <= microseconds_of(now)
    assert last_daily_us(hour, zone, last - 1) < last


def test_where_a_day_was_left_out_the_hour_of_the_day_before_counts() -> None:
    # Samoa went from the 29th of December 2011 to the 31st.
    now = microseconds_of(datetime(2011, 12, 30, 12, tzinfo=UTC))  # 02:00 on the 31st
    before = datetime(2011, 12, 29, 14, tzinfo=UTC)  # 04:00 on the 29th
    assert datetime_of(last_daily_us(4, "Pacific/Apia", now)) == before


@pytest.mark.parametrize("name", ["Berlin", "", "../etc/passwd", "Europe", "\0", 7, None, "/UTC"])
def test_a_zone_that_there_is_not_is_told_with_its_place(name: object) -> None:
    with pytest.raises(UsageError, match="there is no time zone") as told:
        zone_of(name, "policy.ends.zone")  # type: ignore[arg-type]
    assert told.value.path == "policy.ends.zone"
