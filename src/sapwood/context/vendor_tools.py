"""Tool definitions as the vendors' JSON."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from ..model import ToolDefinition


def to_openai_chat(definitions: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return tools as OpenAI's chat completions take them."""
    return [{"type": "function", "function": _named(tool, "parameters")} for tool in definitions]


def to_openai_responses(definitions: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return tools as OpenAI's responses take them.

    Strict is the default there, and demands that no argument is optional: it is turned off.
    """
    return [
        {"type": "function", **_named(tool, "parameters"), "strict": False} for tool in definitions
    ]


def to_anthropic(definitions: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return tools as Anthropic's messages take them."""
    return [_named(tool, "input_schema") for tool in definitions]


def to_mcp(definitions: Iterable[ToolDefinition]) -> list[dict[str, Any]]:
    """Return tools as a server of the Model Context Protocol lists them."""
    return [_named(tool, "inputSchema") for tool in definitions]


def _named(tool: ToolDefinition, schema: str) -> dict[str, Any]:
    # Copied, so that what a caller adds to one does not change the next.
    return {"name": tool.name, "description": tool.description, schema: deepcopy(tool.schema)}
