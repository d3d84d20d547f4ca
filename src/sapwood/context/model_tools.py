"""The tools that a model is offered, as the vendors' JSON, and what it hands to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from ..errors import UsageError
from ..model import ToolDefinition
from ..rules.hidden_characters import find_hidden
from ..rules.prompt import has_frame
from .config import BlockShape

UPDATE, LOAD, UNLOAD, SEARCH = "update_context", "load_context", "unload_context", "search_context"
SESSION_SEARCH = "session_search"
REFUSED = "Error: "
"""What an answer begins with when a tool did not do what it was asked for."""

LOADS = "Read an entry of a block as a whole, by the key that the block lists for it."
UNLOADS = (
    "Give back the room that a loaded entry takes, once it is no longer needed. "
    "It can be loaded again."
)

MAX_LIMIT = 50
DEFAULT_LIMIT = 10


def define_tools(shapes: Mapping[str, BlockShape], *, search: bool) -> list[ToolDefinition]:
    """Return the tools that these blocks have a use for, and if asked for, that for sessions."""
    writable = [label for label, shape in shapes.items() if shape.writable]
    keyed = [label for label, shape in shapes.items() if shape.keyed]
    loadable = [label for label, shape in shapes.items() if shape.loadable]
    searchable = [label for label, shape in shapes.items() if shape.searchable]
    tools: list[ToolDefinition] = []
    if writable:
        tools.append(_update(writable, keyed))
    if loadable:
        tools += [_of_an_entry(LOAD, LOADS, loadable), _of_an_entry(UNLOAD, UNLOADS, loadable)]
    if searchable:
        tools.append(_search(searchable))
    if search:
        tools.append(_session_search())
    return tools


def _update(labels: list[str], keyed: list[str]) -> ToolDefinition:
    description = (
        "Write to a block of the system prompt, to keep something for later turns. "
        "'replace' writes the whole block anew, 'append' adds a line."
    )
    properties = {
        "label": _label(labels),
        "content": _text("The text to write."),
        "action": {
            "type": "string",
            "enum": ["replace", "append"],
            "description": "What to do with the text that is there; 'replace' if left out.",
        },
    }
    if keyed:
        names = ", ".join(f"'{label}'" for label in keyed)
        description += f" In {names} it writes one entry: give it a title."
        properties["title"] = _text("The entry's title; the same title writes it anew.")
        properties["description"] = _text("One line that says what the entry is good for.")
    return _tool(UPDATE, description, properties, ["label", "content"])


def _of_an_entry(name: str, description: str, labels: list[str]) -> ToolDefinition:
    properties = {"label": _label(labels), "key": _text("The entry's key.")}
    return _tool(name, description, properties, ["label", "key"])


def _search(labels: list[str]) -> ToolDefinition:
    properties = {"label": _label(labels), "query": _query()}
    return _tool(SEARCH, "Search the entries of a block.", properties, ["label", "query"])


def _session_search() -> ToolDefinition:
    description = (
        "Look into this user's conversations. With a query: find messages, in all of them or in "
        "one session. With a session and 'around': read the messages around a message that was "
        "found. With a session alone: read its end. With nothing: list the latest sessions."
    )
    properties = {
        "query": _query(),
        "session": _text("The id of a session."),
        "around": _text("The id of a message of that session."),
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "description": f"How many to give; {DEFAULT_LIMIT} if left out.",
        },
    }
    return _tool(SESSION_SEARCH, description, properties, [])


def _tool(
    name: str, description: str, properties: dict[str, Any], required: list[str]
) -> ToolDefinition:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return ToolDefinition(name=name, description=description, schema=schema)


def _label(labels: Iterable[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(labels), "description": "The label of the block."}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _query() -> dict[str, Any]:
    return _text(
        'Words that all have to be there, "phrases" in quotes, OR, NOT, prefix*. '
        "All other characters are looked for as they are."
    )


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


def read_arguments(given: Any) -> dict[str, Any]:
    """Read arguments: an object, or JSON of one; nothing at all is an empty one."""
    if isinstance(given, (str, bytes)):
        if not given.strip():
            return {}
        try:
            given = msgspec.json.decode(given)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise UsageError("The arguments are not valid JSON.") from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UsageError("The arguments must be a JSON object.")
    return given


def text_of(arguments: dict[str, Any], name: str) -> str:
    """Return an argument that has to be there as text."""
    value = maybe_text(arguments, name)
    if value is None:
        raise UsageError(f"Give {name!r} as text.")
    return value


def maybe_text(arguments: dict[str, Any], name: str) -> str | None:
    """Return an argument that may be left out or null."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name!r} must be text, not {_kind(value)}.")
    return value


def label_of(arguments: dict[str, Any], labels: Iterable[str]) -> str:
    """Return the label that is meant; the prompt shows labels in capitals, so these pass."""
    given = text_of(arguments, "label")
    known = list(labels)
    for label in known:
        if given in (label, label.upper()):
            return label
    names = ", ".join(f"'{label}'" for label in known)
    raise UsageError(f"There is no block {given!r:.80} for this. The labels are: {names}.")


def action_of(arguments: dict[str, Any]) -> str:
    """Return what is to be done with a block's text."""
    action = maybe_text(arguments, "action") or "replace"
    if action not in ("replace", "append"):
        raise UsageError(f"'action' must be 'replace' or 'append', not {action!r:.80}.")
    return action


def limit_of(arguments: dict[str, Any]) -> int:
    """Return how many to show, within the bounds."""
    value = arguments.get("limit")
    if value is None:
        return DEFAULT_LIMIT
    try:
        wanted = int(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError("'limit' must be a whole number.") from None
    return max(1, min(wanted, MAX_LIMIT))


def check_written(text: str | None, name: str) -> None:
    """Refuse text by a model that hides something, or that looks like another block."""
    if text is None:
        return
    found = find_hidden(text)
    if found:
        at, char = found[0]
        more = f", and {len(found) - 1} more such" if len(found) > 1 else ""
        raise UsageError(
            f"Not written: {name!r} has the hidden character {char} at character {at + 1}{more}. "
            "Write it without."
        )
    if has_frame(text):
        raise UsageError(f"Not written: {name!r} has a line of ═, which only frames blocks.")


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return kinds.get(type(value), "an object")
