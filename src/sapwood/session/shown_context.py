"""What a model is shown beside the messages: prompt, tools and what the blocks have to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ..errors import ContextOverflowError, UsageError
from ..model import ModelMessage, ToolDefinition
from ..rules import check
from ..rules.prompt import PromptBlock, render
from ..rules.tokens import estimate_text

if TYPE_CHECKING:
    from ..context import Block, LoadedKey


class ShownContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context's part of an input; the default is that of a session without blocks."""

    prompt: str = ""
    tools: list[ToolDefinition] = []
    updates: str = ""
    loaded: Sequence[LoadedKey] | None = None

    @property
    def tokens(self) -> int:
        """What prompt and tools cost."""
        return estimate_text(self.prompt) + tokens_of_tools(self.tools)

    def with_tools(self, tools: Sequence[ToolDefinition]) -> ShownContext:
        """Add the caller's own tools after those of the blocks."""
        if not isinstance(tools, Sequence):
            raise UsageError(f"tools is a {type(tools).__name__}: give a list", path="tools")
        taken = {tool.name for tool in self.tools}
        for index, tool in enumerate(tools):
            where = f"tools[{index}]"
            check.instance(tool, ToolDefinition, where)
            check.name(tool.name, f"{where}.name")
            check.instance(tool.schema, dict, f"{where}.schema")
            if tool.name in taken:
                raise UsageError(
                    f"{where} has the name {tool.name!r}, as another tool has: rename it",
                    path=f"{where}.name",
                )
            taken.add(tool.name)
        return msgspec.structs.replace(self, tools=[*self.tools, *tools]) if tools else self

    def room_in(self, budget: int, updates: int) -> int:
        """Return how much of a budget is left for the messages; so much the updates cost."""
        tokens = self.tokens + updates
        if tokens > budget:
            raise ContextOverflowError(
                f"the prompt and the tools alone need {tokens} tokens, and the budget is "
                f"{budget}: raise the budget, or limit the blocks by max_tokens"
            )
        return budget - tokens

    def elided(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Leave out what was loaded once and is loaded no more."""
        if self.loaded is None:
            return messages
        from ..context import elide_unloaded

        return elide_unloaded(messages, self.loaded)


def tokens_of_tools(tools: list[ToolDefinition]) -> int:
    """Estimate what the definitions of tools cost."""
    return estimate_text(msgspec.json.encode(tools).decode()) if tools else 0


def prompt_of(blocks: Sequence[Block]) -> str:
    """Render blocks as a freeze would: what is not frozen yet is counted as it will be."""
    from ..context.provider import strongest_kind

    return render(
        [
            PromptBlock(
                label=block.label,
                description=block.description,
                content=block.content,
                tokens=block.tokens,
                max_tokens=block.max_tokens,
                kind=strongest_kind(block.searchable, block.loadable, block.writable),
            )
            for block in blocks
        ]
    ).text
