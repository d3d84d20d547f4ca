"""Time zones, and when their clocks show an hour."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from ..errors import UsageError
from ..model import datetime_of, microseconds_of


def last_daily_us(hour: int, zone: str, now_us: int) -> int:
    """Return when the clocks of a time zone last showed an hour, up to now."""
    clock = zone_of(zone)
    today = datetime_of(now_us).astimezone(clock).date()
    # One day may be left out: where a zone crosses the date line.
    for days in range(3):
        at_us = _moment_us(today - timedelta(days=days), hour, clock)
        if at_us <= now_us:
            return at_us
    raise AssertionError("no time zone leaves out three days")


def zone_of(name: str, path: str = "zone") -> tzinfo:
    """Return a time zone by its name, such as "Europe/Berlin"."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, TypeError, OSError):
        raise UsageError(
            f"there is no time zone {name!r}: give a name as 'Europe/Berlin'; on a system without "
            "time zones, install the package tzdata",
            path=path,
        ) from None


def _moment_us(day: date, hour: int, clock: tzinfo) -> int:
    # Of an hour that is left out, this is by the offset before: the moment the clocks go forward.
    local = datetime(day.year, day.month, day.day, hour, tzinfo=clock)
    return microseconds_of(local.astimezone(UTC))
