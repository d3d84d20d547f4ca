"""All that a model is called with, as a vendor's client takes it."""

from __future__ import annotations

from itertools import takewhile

from ..errors import UsageError
from ..model import ModelInput, ModelMessage, ToolDefinition
from ..rules.wording import a_kind
from .anthropic import to_anthropic
from .message_like import has_tools
from .openai_chat import to_openai_chat
from .openai_responses import to_openai_responses
from .unmapped_fields import Json, Reasoning, text_of_part
from .vendor_limits import fit_name


def input_to_openai_chat(input: ModelInput, *, reasoning: Reasoning = "text") -> Json:
    """Write what `prepare` gave for `client.chat.completions.create(model=..., **this)`."""
    _check(input)
    tools = [
        {"type": "function", "function": {**_named(tool), "parameters": tool.schema}}
        for tool in input.tools
    ]
    messages = to_openai_chat(input.messages, wire=True, reasoning=reasoning)
    if input.prompt:
        messages.insert(0, {"role": "system", "content": input.prompt})
    return _with_tools({"messages": messages}, tools)


def input_to_openai_responses(input: ModelInput, *, reasoning: Reasoning = "text") -> Json:
    """Write what `prepare` gave for `client.responses.create(model=..., **this)`."""
    _check(input)
    written: Json = {"instructions": input.prompt} if input.prompt else {}
    written["input"] = to_openai_responses(input.messages, wire=True, reasoning=reasoning)
    # Strict is the default here, and refuses most schemas that were not written for it.
    tools = [
        {"type": "function", **_named(tool), "parameters": tool.schema, "strict": False}
        for tool in input.tools
    ]
    return _with_tools(written, tools)


def input_to_anthropic(input: ModelInput, *, reasoning: Reasoning = "text") -> Json:
    """Write what `prepare` gave for `client.messages.create(model=..., max_tokens=..., **this)`.

    System messages before all others are part of `system`, up to the first one that calls a tool.
    """
    _check(input)
    leading = list(takewhile(_is_system, input.messages))
    rest = input.messages[len(leading) :]
    texts = [
        input.prompt,
        *("\n".join(text_of_part(part, reasoning) for part in it.parts) for it in leading),
    ]
    system = "\n\n".join(text for text in texts if text.strip())
    written: Json = {"system": system} if system else {}
    written["messages"] = to_anthropic(rest, wire=True, reasoning=reasoning)
    return _with_tools(written, [{**_named(it), "input_schema": it.schema} for it in input.tools])


def _check(input: object) -> None:
    if not isinstance(input, ModelInput):
        raise UsageError(f"input is {a_kind(input)}: give what prepare() gave", path="input")


def _is_system(message: ModelMessage) -> bool:
    """Whether a message can be part of `system`, where no call finds its result."""
    return message.role in ("system", "developer") and not has_tools(message.parts)


def _with_tools(written: Json, tools: list[Json]) -> Json:
    """Add the tools; the vendors refuse an empty list of them."""
    return {**written, "tools": tools} if tools else written


def _named(tool: ToolDefinition) -> Json:
    return {"name": fit_name(tool.name), "description": tool.description}
