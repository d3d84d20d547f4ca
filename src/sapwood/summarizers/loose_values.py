"""Look into an answer whose shape nobody promises.

The SDKs do not check what an endpoint sends: a field may be missing, null or of another type, and
what is no JSON object at all comes as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from ..rules.ids import check_name

MOST_QUOTED = 200


def pick(value: Any, *path: str | int) -> Any:
    """Follow names and indexes into a value; None where it does not go on."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = getattr(value, step, None)
    return value


def text_at(value: Any, *path: str | int) -> str:
    """Return the text that is there; a list of text parts is joined, anything else is empty."""
    found = pick(value, *path)
    if isinstance(found, list):
        found = "".join(text_at(it, "text") for it in found if pick(it, "type") == "text")
    return found if isinstance(found, str) else ""


def count_at(value: Any, *path: str | int) -> int:
    """Return the count that is there, or 0."""
    found = pick(value, *path)
    is_count = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if is_count else 0


def id_at(value: Any, *path: str | int) -> str | None:
    """Return the id that is there, if it is one that a store takes."""
    found = pick(value, *path)
    try:
        check_name(found, "id")
    except UsageError:
        return None
    return str(found)


def quoted(value: Any) -> str:
    """Quote the beginning of what came."""
    plain = value.to_dict(warnings=False) if hasattr(value, "to_dict") else value
    text = plain if isinstance(plain, str) else repr(plain)
    return repr(text) if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]!r} and so on"
