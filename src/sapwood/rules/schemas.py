"""JSON Schemas of types, and values read as them; types of Pydantic are taken, too."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ..errors import UsageError
from .wording import a_kind

# Models like to write JSON as they would show it to somebody.
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL | re.IGNORECASE)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, the definitions that it uses at its root."""
    try:
        (root,), named = msgspec.json.schema_components([kind], schema_hook=_foreign_schema)
    except TypeError as error:
        raise UsageError(f"there is no JSON Schema for {kind!r}: {error}", path="tools") from error
    if reference := root.get("$ref"):
        # Kept if it refers to itself.
        root = dict(named[reference.rpartition("/")[2]])
    definitions: dict[str, Any] = {}
    schema: dict[str, Any] = _hoisted({**root, "$defs": named}, definitions)
    used = _used(schema, definitions, {})
    schema.pop("title", None)
    return {**schema, "$defs": used} if used else schema


def strict_schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema of a type as vendors want it for an answer: an object, with all fields."""
    schema: dict[str, Any] = _strict(schema_of(kind))
    if schema.get("type") != "object":
        raise UsageError(f"output is {kind!r}: give a class with fields", path="output")
    return schema


def read_value(value: Any, kind: Any) -> Any:
    """Read plain JSON as a type; `UsageError` says what does not fit."""
    try:
        return msgspec.convert(value, kind, dec_hook=_foreign_value)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def read_json(text: str, kind: Any) -> Any:
    """Read JSON as a type, also out of one fence; `UsageError` says what does not fit."""
    fenced = _FENCE.fullmatch(text)
    try:
        return msgspec.json.decode(
            fenced[1] if fenced else text, type=kind, dec_hook=_foreign_value
        )
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def as_plain(value: Any) -> Any:
    """Return what a tool gave as plain JSON."""
    try:
        return (
            value
            if isinstance(value, str)
            else msgspec.to_builtins(value, str_keys=True, enc_hook=_foreign_plain)
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the tool gave {a_kind(value)}, which is no JSON: {error}") from error


def _foreign_schema(kind: Any) -> dict[str, Any]:
    if hasattr(kind, "model_json_schema"):
        made: dict[str, Any] = kind.model_json_schema()
        return made
    raise NotImplementedError(kind)


def _foreign_value(kind: Any, value: Any) -> Any:
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    raise NotImplementedError(kind)


def _foreign_plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise NotImplementedError(f"objects of type {type(value).__name__} are not supported")


def _hoisted(schema: Any, definitions: dict[str, Any]) -> Any:
    """Take the definitions out of wherever they stand: references start at the root."""
    if isinstance(schema, list):
        return [_hoisted(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    for name, each in schema.get("$defs", {}).items():
        definitions[name] = _hoisted(each, definitions)
    return {key: _hoisted(each, definitions) for key, each in schema.items() if key != "$defs"}


def _used(schema: Any, definitions: dict[str, Any], used: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that a schema refers to, also by each other."""
    if isinstance(schema, list):
        for each in schema:
            _used(each, definitions, used)
    elif isinstance(schema, dict):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name in definitions and name not in used:
            used[name] = definitions[name]
            _used(definitions[name], definitions, used)
        for each in schema.values():
            _used(each, definitions, used)
    return used


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _strict(each) for key, each in schema.items() if key != "default"}
    if isinstance(schema.get("properties"), dict):
        schema |= {"required": list(schema["properties"]), "additionalProperties": False}
    return schema
