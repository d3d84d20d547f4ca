"""Results of tools that are too large for a model."""

from __future__ import annotations

from typing import Any

import msgspec

from ..model import NewMessage, Part, ToolResultPart

RESULTS = "results"
"""Where a message's `extra` keeps results that were cut for the model, by the call's id."""


def cut_results(message: NewMessage, most: int) -> NewMessage:
    """Cut the results of more characters than that; all of them is kept beside the message."""
    parts: list[Part] = []
    wholes: dict[str, Any] = {}
    for part in message.parts:
        shown = _cut(part.output, most) if isinstance(part, ToolResultPart) else None
        if isinstance(part, ToolResultPart) and shown is not None:
            wholes[part.call_id] = part.output
            part = msgspec.structs.replace(part, output=shown)
        parts.append(part)
    if not wholes:
        return message
    return msgspec.structs.replace(message, parts=parts, tokens=None, extra={RESULTS: wholes})


def _cut(output: Any, most: int) -> str | None:
    """Return what the model is shown of a result that is too large; None for any other."""
    text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
    if len(text) <= most:
        return None
    return f"{text[:most]}\n[{len(text) - most} of {len(text)} characters are left out here]"
