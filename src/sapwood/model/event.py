"""What a listener is told. Every event says whose session it is."""

from __future__ import annotations

from typing import Literal

import msgspec

from .history import Overlay
from .message import Message


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    owner: str
    session: str


class AppendEvent(_Event, frozen=True, kw_only=True, tag="append"):
    """Messages were appended; the last `written` of them are new, the others were there."""

    messages: list[Message]
    written: int


class UpdateEvent(_Event, frozen=True, kw_only=True, tag="update"):
    """A message was changed."""

    message: Message


class DeleteEvent(_Event, frozen=True, kw_only=True, tag="delete"):
    """Messages were erased."""

    ids: list[str]


class ClearEvent(_Event, frozen=True, kw_only=True, tag="clear"):
    """All messages of the session were deleted."""


class CompactEvent(_Event, frozen=True, kw_only=True, tag="compact"):
    """A compaction started, or ended in one of three ways; one that started always ends."""

    phase: Literal["started", "done", "failed", "refused"]
    reason: str = ""
    overlay: Overlay | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None


class ContextEvent(_Event, frozen=True, kw_only=True, tag="context"):
    """A block, or the prompt, changed."""

    label: str
    action: str


class StatusEvent(_Event, frozen=True, kw_only=True, tag="status"):
    """How full the context is after a change; `threshold` is where it is compacted.

    `crossed` names the higher of the thresholds that were passed just now.
    """

    tokens: int
    threshold: int | None
    crossed: Literal["soft", "hard"] | None = None


Event = (
    AppendEvent | UpdateEvent | DeleteEvent | ClearEvent | CompactEvent | ContextEvent | StatusEvent
)
