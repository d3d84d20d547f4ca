"""Turns: a user's message and all that answers it."""

from __future__ import annotations

from typing import Literal

import msgspec

TurnState = Literal["open", "waiting", "complete", "interrupted"]
"""How a turn stands: at work, waiting for an approval, answered, or ended without an answer."""


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of a turn, beside its messages; its id is that of its first message.

    `attempts` counts how often it was begun: taken up after it was interrupted, or to be answered
    anew, but not after an approval. `last` is the message that it ended with, or waits at. `reason`
    says why one was interrupted: "stopped", "died" (its process), "left" (without an answer), or
    the name of the error that ended it, as "CancelledError".
    """

    id: str = ""
    state: TurnState = "open"
    attempts: int = 1
    last: str | None = None
    reason: str | None = None
