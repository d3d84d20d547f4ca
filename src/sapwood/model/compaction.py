"""What a compaction did, or would do."""

from __future__ import annotations

from typing import Literal

import msgspec

from .history import Entry, Overlay
from .message import _Dated


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """How a compaction ended: `overlay` is what it made, `reason` why it made none."""

    status: Literal["done", "refused"]
    reason: str = ""
    overlay: Overlay | None = None
    tokens_before: int
    tokens_after: int


class CompactionPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction would cover, and the prompt from which the summary would be made.

    `prompt` is empty when no model is asked.
    """

    entries: list[Entry]
    tokens: int
    target_tokens: int
    prompt: str


class CompactionNote(_Dated, msgspec.Struct, frozen=True, kw_only=True):
    """A compaction of the past. `undone` says that its overlay is in force no more."""

    overlay: str
    reason: str
    strategy: str
    tokens: int
    covered_tokens: int
    created_us: int
    undone: bool = False
