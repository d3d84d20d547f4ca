"""Tool definitions in the vendors' shapes."""

from __future__ import annotations

from sapwood.context import to_anthropic, to_mcp, to_openai_chat, to_openai_responses
from sapwood.model import ToolDefinition

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
TOOL = ToolDefinition(name="look", description="Look.", schema=SCHEMA)
NAMED = {"name": "look", "description": "Look."}


def test_each_vendor_gets_its_own() -> None:
    assert to_openai_chat([TOOL]) == [
        {"type": "function", "function": {**NAMED, "parameters": SCHEMA}}
    ]
    assert to_openai_responses([TOOL]) == [
        {"type": "function", **NAMED, "parameters": SCHEMA, "strict": False}
    ]
    assert to_anthropic([TOOL]) == [{**NAMED, "input_schema": SCHEMA}]
    assert to_mcp([TOOL]) == [{**NAMED, "inputSchema": SCHEMA}]


def test_what_a_caller_changes_is_a_copy() -> None:
    for shape in (to_openai_chat, to_openai_responses, to_anthropic, to_mcp):
        [tool] = shape([TOOL])
        for key in ("parameters", "input_schema", "inputSchema"):
            tool.get("function", tool).get(key, {}).setdefault("properties", {})["b"] = 1
    assert SCHEMA["properties"] == {"a": {"type": "string"}}
