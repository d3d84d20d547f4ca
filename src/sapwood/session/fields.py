"""The keywords by which sessions are made, changed and listed."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypedDict

from ..model import Edge


class RecordFields(TypedDict, total=False):
    """What of a session's record may be changed."""

    title: str | None
    state: str
    tags: list[str]
    data: dict[str, Any]
    budget: int | None


class SessionFields(RecordFields, total=False):
    """What may be given to a new session."""

    parent: Edge | None


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
