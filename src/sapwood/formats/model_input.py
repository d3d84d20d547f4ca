"""All that a model is called with, as a vendor's client takes it."""

from __future__ import annotations

from itertools import takewhile

from ..errors import UsageError
from ..model import ModelInput, ModelMessage, ToolDefinition
from ..rules.wording import a_kind
from .anthropic import to_anthropic
from .cache_marks import CacheTime, check_cache, with_marks
from .message_like import has_tools
from .openai_chat import to_openai_chat
from .openai_responses import to_openai_responses
from .unmapped_fields import Json, Reasoning, text_of_part
from .vendor_limits import fit_name


def input_to_openai_chat(
    input: ModelInput, *, reasoning: Reasoning = "text", cache: bool = True
) -> Json:
    """Write what `prepare` gave for `client.chat.completions.create(model=..., **this)`.

    With `cache` it has a `prompt_cache_key`; some servers that speak the same refuse it.
    """
    _check(input)
    tools = [
        {"type": "function", "function": {**_named(tool), "parameters": tool.schema}}
        for tool in input.tools
    ]
    messages = to_openai_chat(input.messages, wire=True, reasoning=reasoning)
    if input.prompt:
        messages.insert(0, {"role": "system", "content": input.prompt})
    return {**_with_tools({"messages": messages}, tools), **_cache_key(input, cache)}


def input_to_openai_responses(
    input: ModelInput, *, reasoning: Reasoning = "text", cache: bool = True
) -> Json:
    """Write what `prepare` gave for `client.responses.create(model=..., **this)`.

    With `cache` it has a `prompt_cache_key`.
    """
    _check(input)
    written: Json = {"instructions": input.prompt} if input.prompt else {}
    written["input"] = to_openai_responses(input.messages, wire=True, reasoning=reasoning)
    # Strict is the default here, and refuses most schemas that were not written for it.
    tools = [
        {"type": "function", **_named(tool), "parameters": tool.schema, "strict": False}
        for tool in input.tools
    ]
    return {**_with_tools(written, tools), **_cache_key(input, cache)}


def input_to_anthropic(
    input: ModelInput, *, reasoning: Reasoning = "text", cache: CacheTime | None = "5m"
) -> Json:
    """Write what `prepare` gave for `client.messages.create(model=..., max_tokens=..., **this)`.

    System messages before all others are part of `system`, up to the first one that calls a tool.
    What stays the same in the next call is marked to be cached for the time `cache`. With None
    there are no marks but those that stored messages have.
    """
    _check(input)
    check_cache(cache)
    leading = list(takewhile(_is_system, input.messages))
    rest = input.messages[len(leading) :]
    texts = [
        input.prompt,
        *("\n".join(text_of_part(part, reasoning) for part in it.parts) for it in leading),
    ]
    system = "\n\n".join(text for text in texts if text.strip())
    written: Json = {"system": system} if system else {}
    written["messages"] = to_anthropic(rest, wire=True, reasoning=reasoning)
    tools = [{**_named(it), "input_schema": it.schema} for it in input.tools]
    written = _with_tools(written, tools)
    if cache is None:
        return written
    # What was left out to fit a budget is more the next time: no call begins like another.
    is_whole = not (input.left_out or input.shortened or input.more)
    return with_marks(written, cache, messages=is_whole)


def _check(input: object) -> None:
    if not isinstance(input, ModelInput):
        raise UsageError(f"input is {a_kind(input)}: give what prepare() gave", path="input")


def _cache_key(input: ModelInput, cache: bool) -> Json:
    return {"prompt_cache_key": input.cache_key} if cache and input.cache_key is not None else {}


def _is_system(message: ModelMessage) -> bool:
    """Whether a message can be part of `system`, where no call finds its result."""
    return message.role in ("system", "developer") and not has_tools(message.parts)


def _with_tools(written: Json, tools: list[Json]) -> Json:
    """Add the tools; the vendors refuse an empty list of them."""
    return {**written, "tools": tools} if tools else written


def _named(tool: ToolDefinition) -> Json:
    return {"name": fit_name(tool.name), "description": tool.description}
