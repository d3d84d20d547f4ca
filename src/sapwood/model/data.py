"""Data at positions: what a session keeps for a place in its tree."""

from __future__ import annotations

from typing import Any

import msgspec

from .message import Position, _Dated


class DataVersion(_Dated, msgspec.Struct, frozen=True, kw_only=True):
    """A session's data as it is from a position on: a whole value.

    `id` names the message that it was appended with, or the mark. `previous` is where the version
    before it stands.
    """

    position: Position
    value: dict[str, Any]
    previous: Position | None
    id: str
    created_us: int
