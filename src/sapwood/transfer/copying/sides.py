"""The two stores of a copy, for one owner."""

from __future__ import annotations

from typing import NamedTuple

from ...store import Store


class Sides(NamedTuple):
    """Where sessions come from and go to, and whose they are."""

    source: Store
    target: Store
    owner: str
