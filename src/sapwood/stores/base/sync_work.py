"""Work of the async facade, done by units that answer at once: in a thread, or under a driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from ._async.unit import AsyncUnit
from ._sync.unit import Unit

T = TypeVar("T")


def sync_work(work: Callable[[AsyncUnit], Awaitable[T]]) -> Callable[[Unit], T]:
    """Return the work for a sync unit, whose methods answer in place of an awaitable.

    Nothing can be missing there: the sync protocols are generated from the async ones.
    """
    return cast("Callable[[Unit], T]", work)
