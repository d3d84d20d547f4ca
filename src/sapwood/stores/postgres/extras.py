"""What comes along with an append, as one call to the server takes it."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ...model import SessionPatch
from ...rules.codec import encode_json
from ..base.extras import Extras
from ..relational.rows import PINS_KEY

EXTRA_TYPES = (
    # Fences, and the record's version.
    "%s::text[], %s::bigint[], %s::bigint,"
    # Documents: keys, values, expected versions, times to live, whether they are inherited.
    " %s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::boolean[],"
    # A patch: which columns, each as it is held, and whether it closes the session.
    " %s::text[], %s::bytea, %s::text, %s::text[], %s::bigint, %s::bytea, %s::text, %s::text,"
    " %s::text, %s::boolean"
)
_PLANNED = ("merge", "system", "active_us")
_COLUMNS = ("title", "state", "tags", "budget", "attributes", "model", "source", "end_reason")


def is_to_plan(extras: Extras, most_bytes: int) -> bool:
    """Whether it is not for one call: the server merges no JSON, reads no pins, and has limits."""
    documents, patch = extras.documents, extras.patch
    return (
        (patch is not None and any(getattr(patch, it) is not UNSET for it in _PLANNED))
        or any(it.key == PINS_KEY for it in documents)
        or sum(len(it.value or b"") for it in documents) > most_bytes
    )


def extra_values(extras: Extras) -> list[Any]:
    """Return what comes along, in the order of `EXTRA_TYPES`."""
    documents = extras.documents
    return [
        [it.key for it in extras.fences],
        [it.version for it in extras.fences],
        extras.expected_version,
        [it.key for it in documents],
        [it.value for it in documents],
        [it.expected_version for it in documents],
        [it.expires_in_us for it in documents],
        [it.inherit for it in documents],
        *_patch_values(extras.patch),
    ]


def _patch_values(patch: SessionPatch | None) -> list[Any]:
    """Return which columns a patch changes, None without one, and what they hold then."""
    if patch is None:
        return [None] * (len(_COLUMNS) + 2)
    given = {name: getattr(patch, name) for name in _COLUMNS}
    given = {name: value for name, value in given.items() if value is not UNSET}
    held = {name: _held(name, value) for name, value in given.items()}
    closed = None if patch.closed is UNSET else patch.closed
    return [list(held), *map(held.get, _COLUMNS), closed]


def _held(column: str, value: Any) -> Any:
    """Return a value as its column holds it."""
    if column == "title":
        return None if value is None else value.encode()
    if column == "attributes":
        return encode_json(value, column)
    return list(value) if column == "tags" else value
