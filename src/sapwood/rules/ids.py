"""Time-ordered ids and the limits that every name keeps."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterator

from ..errors import UsageError
from .wording import a_kind

MAX_NAME_BYTES = 256
MAX_KEY_BYTES = 1024
"""How long a document's key may be, which names several things."""
MAX_TIME_US = 253_402_300_799_999_999  # the last microsecond of the year 9999


class IdMaker:
    """Makes ids that sort by the time they were made, also within one microsecond.

    Thirty hexadecimal digits: fourteen of microseconds, which only ever rise, and sixteen that are
    drawn once and are this maker's own. One maker must not be used on both sides of a fork.
    """

    def __init__(self, clock: Callable[[], int], entropy: Callable[[int], bytes]) -> None:
        self._clock = clock
        self._mark = entropy(8).hex()
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        """Make the next id; a clock that goes backwards does not make them unordered."""
        with self._lock:
            now = self._clock()
            self._last = last = now if now > self._last else self._last + 1
        return f"{last:014x}{self._mark}"

    def next(self, count: int) -> Iterator[str]:
        """Make the next ids of a batch, which looks at the clock and takes the lock once."""
        with self._lock:
            first = max(self._clock(), self._last + 1)
            self._last = first + count - 1
        mark = self._mark
        return (f"{number:014x}{mark}" for number in range(first, first + count))


def check_key(value: str, what: str) -> None:
    """Refuse a document's key that is not 1 to 1,024 bytes of UTF-8 without controls."""
    check_name(value, what, MAX_KEY_BYTES)


def check_name(value: str, what: str, most: int = MAX_NAME_BYTES) -> None:
    """Refuse an id, label or owner that is not 1 to 256 bytes of UTF-8 without controls."""
    if type(value) is str and value.isascii() and value.isprintable() and 0 < len(value) <= most:
        return
    if not isinstance(value, str):
        raise UsageError(f"{what} must be a string, not {a_kind(value)}", path=what)
    if not value:
        raise UsageError(f"{what} is empty: give 1 to {most} bytes", path=what)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise UsageError(f"{what} {value!r} has a lone surrogate", path=what) from None
    if size > most:
        raise UsageError(f"{what} has {size} bytes: at most {most}", path=what)
    if any(unicodedata.category(char) == "Cc" for char in value):
        raise UsageError(f"{what} {value!r} has a control character", path=what)


def is_name(value: object) -> bool:
    """Whether something is an id, label or owner as `check_name` takes it."""
    try:
        check_name(value, "")  # type: ignore[arg-type]
    except UsageError:
        return False
    return True


def check_time(value: object, what: str) -> None:
    """Check a time in microseconds since 1970, which a datetime can say."""
    if type(value) is not int or not 0 <= value <= MAX_TIME_US:
        raise UsageError(
            f"{what} must be whole microseconds from 1970 to 9999, not {value!r}", path=what
        )
