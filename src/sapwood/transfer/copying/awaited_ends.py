"""Where overlays of forks end: their sources keep these places until the forks are copied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from ...errors import NotFoundError
from ...model import Position
from ...store import Store


def awaited_by_forks(store: Store, owner: str, names: Iterable[str]) -> set[Position]:
    """Find the ends of the overlays that forks have.

    A message can be deleted through its home only, and an overlay cannot be put on a deleted one.
    """
    found: set[Position] = set()
    for name in names:
        record = store.find_session(owner, name)
        if record is None or record.forked_at is None:
            continue
        # One that is deleted meanwhile awaits nothing.
        with contextlib.suppress(NotFoundError):
            for overlay in store.list_overlays(owner, name):
                found |= {overlay.first, overlay.last}
    return found
