"""A history as the model is shown it: without the texts of entries that are not loaded now.

Nothing that is stored changes: what is loaded again is shown again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from ..model import ModelMessage, OtherPart, Part, ToolCallPart, ToolResultPart
from .entry import LoadedKey
from .tool_definitions import LOAD, REFUSED

LONGEST_REFUSAL = 500

ResultIndex = tuple[int, int]


def elide_unloaded(
    messages: Sequence[ModelMessage], loaded: Collection[tuple[str, str]]
) -> list[ModelMessage]:
    """Put a short mark for each loaded text that is not loaded now, or was loaded again later."""
    results = dict(_results(messages))
    newest = {key: place for place, key in results.items()}
    held = {_same(*key) for key in loaded}
    marks = {
        place: (
            f"[{key.key!r} was loaded again; its text is further down]"
            if key in held
            else f"[{key.key!r} was unloaded; load it again to read it]"
        )
        for place, key in results.items()
        if key not in held or newest[key] != place
    }
    touched = {message for message, _ in marks}
    return [
        _marked(message, index, marks) if index in touched else message
        for index, message in enumerate(messages)
    ]


def _marked(message: ModelMessage, index: int, marks: dict[ResultIndex, str]) -> ModelMessage:
    parts = [
        _replaced(part, marks[index, at]) if (index, at) in marks else part
        for at, part in enumerate(message.parts)
    ]
    return msgspec.structs.replace(message, parts=parts)


def _results(messages: Sequence[ModelMessage]) -> Iterator[tuple[ResultIndex, LoadedKey]]:
    """Find the results that hold an entry's text, in order.

    A result belongs to the nearest call before it: some models use the same call ids every turn.
    """
    called: dict[str, LoadedKey | None] = {}
    for index, message in enumerate(messages):
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart):
                called[part.call_id] = _key_in(part.input) if part.name == LOAD else None
            elif isinstance(part, ToolResultPart):
                key = called.get(part.call_id)
                if key is not None and not part.is_error and _has_text(part.output):
                    yield (index, at), key
            elif isinstance(part, OtherPart):
                key = _key_of(part.value)
                if key is not None:
                    yield (index, at), key


def _key_of(value: dict[str, Any]) -> LoadedKey | None:
    """Read a part of the AI SDK, in which a call and its result are one."""
    kind = value.get("type")
    named = value.get("toolName") == LOAD if kind == "dynamic-tool" else kind == f"tool-{LOAD}"
    if not named or value.get("state", "output-available") != "output-available":
        return None
    return _key_in(value.get("input")) if _has_text(value.get("output")) else None


def _key_in(given: Any) -> LoadedKey | None:
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
    if not isinstance(given, dict):
        return None
    label, key = given.get("label"), given.get("key")
    return _same(label, key) if isinstance(label, str) and isinstance(key, str) else None


def _same(label: str, key: str) -> LoadedKey:
    """Name an entry so that it is the same for a label in capitals, which tools accept."""
    return LoadedKey(label.upper(), key)


def _has_text(output: Any) -> bool:
    """Whether an answer is an entry's text, and not the sentence that there is none."""
    if isinstance(output, str) and len(output) <= LONGEST_REFUSAL:
        return not output.startswith(REFUSED)
    return output is not None


def _replaced(part: Part, mark: str) -> Part:
    if isinstance(part, OtherPart):
        return OtherPart(value={**part.value, "output": mark})
    return msgspec.structs.replace(part, output=mark)
