"""How full the context is, and what the conversation has cost so far."""

from __future__ import annotations

import msgspec

from ...agent import ModelTable
from ...model import Usage
from ...rules.threshold import HARD_PERCENT
from ...session import Session

MILLION = 1_000_000


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a meter shows. Of a window that is not known it is None, and so is a cost."""

    tokens: int
    window: int | None = None
    cost_micros: int | None = None

    @property
    def line(self) -> str:
        """The same in words."""
        context = f"context {self.tokens:,}"
        if self.window is not None:
            context += f" of {self.window:,} tokens ({100 * self.tokens // self.window}%)"
        else:
            context += " tokens"
        return context if self.cost_micros is None else f"{context} · {dollars(self.cost_micros)}"


class Meter:
    """Reads it for one model, by a table of windows and prices."""

    def __init__(self, model: str, table: ModelTable) -> None:
        self._model = model
        self._table = table
        self.window = table.window(model)

    def cost(self, usage: Usage) -> int:
        """Return what a call cost: by the name that the user gave, or else by the endpoint's."""
        if self._table.knows_price(self._model):
            usage = msgspec.structs.replace(usage, model=self._model)
        return self._table.cost(usage)

    def most(self, tokens: int) -> int:
        """Return the smaller one of a size and what the model's window holds with some room."""
        return tokens if self.window is None else min(tokens, self.window * HARD_PERCENT // 100)

    def of(self, session: Session, tokens: int | None = None) -> Reading:
        """Return how it stands in a session, where the next call takes so many tokens."""
        return Reading(
            tokens=session.context_tokens() if tokens is None else tokens,
            window=self.window,
            cost_micros=sum(total.cost_micros for total in session.usage()) or None,
        )


def dollars(micros: int) -> str:
    """Write a cost."""
    return f"${micros / MILLION:,.4f}"
