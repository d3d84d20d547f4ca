"""How a run ended."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..model import Message, ToolCallPart

Ending = Literal[
    "complete", "waiting", "steps", "tokens", "cost", "stopped", "length", "output", "other"
]
"""Why a run ended: answered, waiting for an approval, at a limit, stopped from outside, cut by the
model's own limit, an answer that does not fit its type, or anything else of the vendor's."""


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gave. `message` is the last one of the model's, None when it said nothing.

    `output` is the typed answer, where one was asked for. `waiting` are the calls that wait for an
    approval. `steps` counts calls of the model, `tokens` what they read and wrote, and
    `cost_micros` what that cost where a price is known; those of sub-agents with them.
    """

    session: str
    turn: str
    reason: Ending
    message: Message | None = None
    output: Any = None
    waiting: list[ToolCallPart] = []
    steps: int = 0
    tokens: int = 0
    cost_micros: int = 0

    @property
    def text(self) -> str:
        """What the model said last."""
        return "" if self.message is None else self.message.text

    @property
    def is_complete(self) -> bool:
        """Whether the question was answered."""
        return self.reason == "complete"
