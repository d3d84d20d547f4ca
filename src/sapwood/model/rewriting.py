"""What can be written anew as it lies, and how far that has come."""

from __future__ import annotations

import msgspec

from .data import DataVersion
from .history import Overlay
from .message import Message
from .record import Document
from .session import SessionRecord

Rewritable = SessionRecord | Message | DataVersion | Overlay | Document
"""What `admin.rewrite` gives to its function, one after the other."""


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """What a call looked at, how much of that it wrote anew, and where the next goes on.

    The cursor is None when there is no more.
    """

    seen: int
    changed: int
    cursor: str | None
