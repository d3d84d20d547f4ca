"""The counters, of which each is a row."""

from __future__ import annotations

from .tables import FLOOR
from .tx import Tx, select_by

COUNTED = select_by("counter", "name", of=["value"])


def begin_floor(tx: Tx, reached: int) -> None:
    """Let the highest version of a deleted record be counted, if it is not."""
    if tx.value(COUNTED, name=FLOOR) is None:
        tx.add("counter", name=FLOOR, value=reached)
