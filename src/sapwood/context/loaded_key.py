"""Names of what a model loaded."""

from __future__ import annotations

from typing import NamedTuple


class LoadedKey(NamedTuple):
    """An entry of a block that is loaded."""

    label: str
    key: str
