"""Lengths of time as people write them: "30m", "24h", "7d", "1h30m"."""

from __future__ import annotations

import re
from datetime import timedelta

from ..errors import UsageError

MAX_DURATION = timedelta(days=36_500)

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_WRITTEN = re.compile(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")


def parse_duration(text: object, what: str) -> timedelta:
    """Read a length of time: whole days, hours, minutes and seconds, in this order."""
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if not found or not text:
        raise UsageError(
            f"{what} must be a length of time, such as '30m', '24h', '7d' or '1h30m', not {text!r}",
            path=what,
        )
    given = zip(_UNITS.values(), found.groups(), strict=True)
    # A billion days are more than a timedelta holds, and more than anybody means.
    parts = {unit: min(int(count), 10**8) for unit, count in given if count is not None}
    length = timedelta(**parts)
    check_duration(length, what)
    return length


def check_duration(value: object, what: str) -> None:
    """Check that something is a length of time, of more than nothing and at most 36,500 days."""
    if not isinstance(value, timedelta):
        raise UsageError(f"{what} must be a timedelta, not {value!r}", path=what)
    if not timedelta(0) < value <= MAX_DURATION:
        raise UsageError(f"{what} must be more than 0 and at most 36500 days", path=what)
