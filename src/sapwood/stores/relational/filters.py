"""What a listing asks for, as far as all databases compare it alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...model import SessionQuery, microseconds_of
from ...rules.system import KEY_BYTES, key_digest
from ..base.listing import read_cursor

OWNER_BYTES = 8
_CURSOR = re.compile(r"(active|created|updated)\.(-?[0-9]{1,18})\.([0-9]{1,18})", re.ASCII)


class ColumnFilter(NamedTuple):
    """A column of a session, its profile or a tag of it, compared with a value."""

    table: str
    column: str
    sign: str
    value: str | int | bytes

    @property
    def text(self) -> str:
        """The comparison, up to its value, in a statement that names tables by one letter."""
        return f" AND {self.table[0]}.{self.column} {self.sign} "


class LookUp(NamedTuple):
    """What an index finds some of an owner's sessions by: columns of one table."""

    table: str
    number: str
    """The column that has the session's number."""
    filters: list[ColumnFilter]

    @property
    def text(self) -> str:
        """The statement's beginning, up to the values of its filters."""
        return f"SELECT {self.number} FROM {{s}}.{self.table} {self.table[0]} WHERE true"


class Lane(NamedTuple):
    """Sessions that lie in order in an index.

    These are an owner's of one kind, of which those of a state are asked for; or those of all
    owners that are of one kind and state.
    """

    owner: int | None
    kind: str
    state: str | None


def indexed_key(owner: int, key: Sequence[str]) -> bytes:
    """Return what an owner's sessions are found by whose key is this, or begins so."""
    return owner.to_bytes(OWNER_BYTES) + key_digest(key)


def indexed_title(owner: int, title: bytes) -> bytes:
    """Return what an owner's sessions are found by whose title is this, or begins so."""
    return owner.to_bytes(OWNER_BYTES) + title[:KEY_BYTES]


def look_ups(owner: int, query: SessionQuery) -> list[LookUp]:
    """Return what may find those of an owner's sessions that a query asks for, whatever their kind.

    What is found by its title may only begin as the title that is asked for does.
    """
    found: list[LookUp] = []
    if query.key:
        found.append(_beginning("system_key", indexed_key(owner, query.key)))
    for tag in query.tags:
        whole = [ColumnFilter("tag", "owner", "=", owner), ColumnFilter("tag", "tag", "=", tag)]
        found.append(LookUp("tag", "session", whole))
    if query.title_prefix:
        found.append(_beginning("title_key", indexed_title(owner, query.title_prefix.encode())))
    return found


def _beginning(column: str, low: bytes) -> LookUp:
    bounds = ((">=", low), ("<=", low.ljust(OWNER_BYTES + KEY_BYTES, b"\xff")))
    filters = [ColumnFilter("profile", column, sign, end) for sign, end in bounds]
    return LookUp("profile", "session", filters)


def look_up_state(lane: Lane) -> LookUp:
    """Return what may find an owner's sessions of one kind that are in a state."""
    values = zip(Lane._fields, lane, strict=True)
    filters = [ColumnFilter("session", key, "=", it) for key, it in values if it is not None]
    return LookUp("session", "number", filters)


def filters(lane: Lane, query: SessionQuery) -> list[ColumnFilter]:
    """Return the columns that a query compares, but for those of the lane."""
    found: list[ColumnFilter] = []
    if query.key and lane.owner is not None:
        found += _beginning("system_key", indexed_key(lane.owner, query.key)).filters
    if query.parent is not None:
        found.append(ColumnFilter("profile", "parent", "=", query.parent))
    moments = (
        ("created_at", ">=", query.created_from),
        ("created_at", "<", query.created_until),
        ("active_at", ">=", query.active_from),
        ("active_at", "<", query.active_until),
    )
    for key, sign, moment in moments:
        if moment is not None:
            time = microseconds_of(moment)
            found.append(ColumnFilter("session", key, sign, time))
            if key == "active_at":
                # So that an index begins, or ends, there.
                bound = ColumnFilter("session", "active_s", sign.rstrip("=") + "=", time // 10**6)
                found.append(bound)
    return found


def parse_cursor(query: SessionQuery) -> tuple[int, int] | None:
    """Return the second and the number of the last session of a page."""
    match = read_cursor(query, _CURSOR)
    return None if match is None else (int(match[2]), int(match[3]))


def cursor_at(query: SessionQuery, second: int, number: int) -> str:
    """Return the cursor that goes on after a session."""
    return f"{query.order}.{second}.{number}"
