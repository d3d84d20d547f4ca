"""What a model is called with."""

from __future__ import annotations

from typing import Any

import msgspec

from .message import Root, _Said
from .part import Part


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call: `schema` is the JSON Schema of its input."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelMessage(_Said, msgspec.Struct, frozen=True, kw_only=True):
    """A message as a model is shown it. `id` is None for what is not stored as a message."""

    role: str
    parts: list[Part]
    metadata: dict[str, Any] = {}
    id: str | None = None
    name: str | None = None


class ModelInput(msgspec.Struct, frozen=True, kw_only=True):
    """All that the model is called with, within its budget.

    `tokens` counts the prompt, the messages and the tools. `left_out` and `shortened` are the ids
    of messages that are not shown, or not whole, because of the budget; nothing stored was changed.
    `more` says that what comes before all of these was not even read, and is left out, too.
    `updates` is what changed in the blocks and none of the messages tells: it goes along with the
    user's next one. `cache_key` is the same for a session and its forks, whose inputs begin alike.
    """

    prompt: str
    messages: list[ModelMessage]
    tools: list[ToolDefinition]
    tokens: int
    budget: int | None
    left_out: list[str] = []
    shortened: list[str] = []
    updates: str = ""
    leaf: str | Root
    more: bool = False
    cache_key: str | None = None

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the prompt to be opened, one line for each message."""
        from .notebook import folded, many, message_row, middle_left_out, page, row

        budget = "" if self.budget is None else f" of {self.budget:,}"
        facts = [
            f"{self.tokens:,}{budget} tokens",
            many(len(self.messages), "message"),
            f"{len(self.left_out):,} left out" if self.left_out else "",
            f"{len(self.shortened):,} shortened" if self.shortened else "",
            "what comes before was not read" if self.more else "",
        ]
        rows = [
            message_row(it.role, it.parts, *([it.id] if it.id else []), name=it.name)
            for it in self.messages
        ]
        head = [folded(f"prompt, {many(len(self.prompt), 'character')}", self.prompt)]
        if self.tools:
            head.append(row("tools", ", ".join(it.name for it in self.tools)))
        return page("Model input", facts, [*head, *middle_left_out(rows)])
