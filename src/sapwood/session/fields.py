"""The keywords by which sessions are made, changed and listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from ..errors import UsageError
from ..model import Edge, EdgeKind


class RecordFields(TypedDict, total=False):
    """What of a session's record may be changed."""

    title: str | None
    state: str
    tags: list[str]
    attributes: dict[str, Any]
    budget: int | None
    model: str | None
    source: str | None
    end_reason: str | None


class NewSessionFields(RecordFields, total=False):
    """What may be given to a new session by its manager; a parent may be its id alone."""

    parent: Edge | str | None


def new_session_fields(fields: NewSessionFields) -> dict[str, Any]:
    """Refuse unknown keywords, and make a parent's id an edge."""
    refuse_unknown(fields, NewSessionFields)
    rest: dict[str, Any] = {**fields}
    if isinstance(rest.get("parent"), str):
        rest["parent"] = Edge(kind=EdgeKind.BRANCH, session=rest["parent"])
    return rest


def refuse_unknown(fields: Mapping[str, object], known: type, beside: Sequence[str] = ()) -> None:
    """Refuse keywords that a call does not have, where Python does not.

    `beside` names those that the call itself has.
    """
    names = [*beside, *known.__annotations__]
    for name in fields:
        if name not in names:
            raise UsageError(f"there is no keyword {name!r}: use {', '.join(names)}", path=name)


class SessionFilters(TypedDict, total=False):
    """Which sessions to list; all that are given must match."""

    state: str | None
    tags: list[str]
    title_prefix: str | None
    parent: str | None
    created_from: datetime | None
    created_until: datetime | None
    active_from: datetime | None
    active_until: datetime | None
    order: Literal["active", "created"]
    limit: int
    cursor: str | None
