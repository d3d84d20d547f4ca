"""Messages and tools as OpenAI's chat protocol writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...model import ToolCallPart, ToolDefinition, ToolResultPart, TurnMessage
from ..output import encode_json


def wire_messages(messages: Sequence[TurnMessage]) -> list[dict[str, Any]]:
    """Write messages; each tool result is a message of its own there."""
    return [it for message in messages for it in _wire(message)]


def wire_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Write the definitions of tools."""
    return [
        {
            "type": "function",
            "function": {"name": it.name, "description": it.description, "parameters": it.schema},
        }
        for it in tools
    ]


def _wire(message: TurnMessage) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            output = part.output if isinstance(part.output, str) else encode_json(part.output)
            yield {"role": "tool", "tool_call_id": part.call_id, "content": output}
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
    if calls:
        yield {"role": "assistant", "content": message.text or None, "tool_calls": calls}
    elif message.text:
        role = message.role if message.role in ("system", "user", "assistant") else "user"
        yield {"role": role, "content": message.text}


def _call(part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.name, "arguments": encode_json(part.input)}
    return {"id": part.call_id, "type": "function", "function": function}
