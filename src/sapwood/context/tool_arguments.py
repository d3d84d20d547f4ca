"""What a model hands to a tool, read with patience; what is wrong is a sentence for the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import UsageError
from ..rules.hidden_characters import find_hidden
from ..rules.prompt import has_frame
from .tool_definitions import DEFAULT_LIMIT, MAX_LIMIT


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
