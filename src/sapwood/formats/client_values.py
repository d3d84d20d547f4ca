"""What clients hand in: plain JSON or objects of their SDKs, checked, with the place of a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..rules.codec import copy_json
from ..rules.ids import check_name
from ..rules.wording import with_article
from .unmapped_fields import Json

_NAMES = {dict: "JSON object", list: "list", str: "string", bool: "boolean"}


def values_of(given: Any, one: str, many: str) -> Iterator[tuple[Json, str]]:
    """Yield each value with its place: `message` for one alone, `messages[3]` in a list."""
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes, bytearray)):
        for index, value in enumerate(given):
            path = f"{many}[{index}]"
            yield value_of(value, path), path
    else:
        yield value_of(given, one), one


def value_of(given: Any, path: str) -> Json:
    """Return a copy of an object that a client hands in, as plain JSON."""
    if type(given) is dict:
        try:
            copied: Json = copy_json(given, path)
            return copied
        except UsageError:
            pass  # there may be objects of an SDK in it
    try:
        value = plain(given)
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply", path=path) from None
    return mapping(copy_json(value, path), path)  # refuses, with the place, what cannot be stored


def plain(value: Any) -> Any:
    """Make plain JSON of mappings, sequences and the models of the vendors' SDKs."""
    if isinstance(value, (str, int, float)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(child) for child in value]
    dump = getattr(value, "model_dump", None)
    # What the vendor did not send is not made up.
    return dump(mode="json", by_alias=True, exclude_unset=True) if callable(dump) else value


def wrong(value: Any, path: str, wanted: str) -> UsageError:
    """Return the error that a value is not what it must be."""
    return UsageError(f"{path} is {_what(value)}: it must be {wanted}", path=path)


def _what(value: Any) -> str:
    if value is None:
        return "missing or null"
    if isinstance(value, str) and len(value) < 60:
        return repr(value)
    return with_article(_NAMES.get(type(value), type(value).__name__))


def mapping(value: Any, path: str) -> Json:
    """Check that a value is an object."""
    if not isinstance(value, dict):
        raise wrong(value, path, "a JSON object")
    return value


def text_at(value: Json, key: str, path: str) -> str:
    """Return a field that must be a string."""
    text = value.get(key)
    if not isinstance(text, str):
        raise wrong(text, f"{path}.{key}", "a string")
    return text


def mapping_at(value: Json, key: str, path: str) -> Json:
    """Return a field that must be an object."""
    return mapping(value.get(key), f"{path}.{key}")


def objects_at(value: Json, key: str, path: str) -> Iterator[tuple[Json, str]]:
    """Yield the objects of a field that must be a list of them, each with its place."""
    items = value.get(key)
    if not isinstance(items, list):
        raise wrong(items, f"{path}.{key}", "a list")
    at = f"{path}.{key}"
    for index, item in enumerate(items):
        where = f"{at}[{index}]"
        yield item if isinstance(item, dict) else mapping(item, where), where


def id_of(value: Json) -> str | None:
    """Return a client's id when it can be a message's; None when there is none, or it cannot."""
    id = value.get("id")
    if not isinstance(id, str):
        return None
    try:
        check_name(id, "id")
    except UsageError:
        return None
    return id
