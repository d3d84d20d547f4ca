"""Rows to records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import literal_column, select

from ..relational.rows import Profile, SessionRow
from .tables import Tables


def session_columns(t: Tables) -> list[Any]:
    """Return the columns of a `SessionRow`; whether its tree was edited is not kept here."""
    kept = [t.session.c[key] for key in SessionRow._fields if key != "edited"]
    return [*kept, literal_column("1")]


def message_columns(m: Any) -> list[Any]:
    """Return the columns of which a message is made."""
    keys = ("pos", "home", "id", "role", "tokens", "version", "created_at", "body")
    return [m.c[key] for key in keys]


def overlay_columns(t: Tables) -> list[Any]:
    """Return the columns of which an overlay is made."""
    keys = ("number", "id", "first", "last", "tokens", "covered_tokens", "created_by")
    return [t.overlay.c[key] for key in (*keys, "created_at", "metadata", "summary")]


def records(t: Tables, *more: Any) -> Any:
    """Return the query of sessions' records, after some columns more."""
    s, p = t.session, t.profile
    tip = t.message.alias("tip")
    keys = ("fork", "context", "messages", "version", "created_at", "active_at")
    columns = [
        s.c.id,
        s.c.tip,
        tip.c.id.label("tip_id"),
        *(s.c[key] for key in keys),
        *(p.c[key] for key in Profile._fields),
    ]
    joined = s.join(p, p.c.session == s.c.number).outerjoin(
        tip, (tip.c.tree == s.c.tree) & (tip.c.pos == s.c.tip)
    )
    return select(*more, *columns).select_from(joined)


def pack_tags(tags: list[str]) -> bytes:
    """Pack tags so that each can be looked for: a tag has no line end in it."""
    return "".join(f"\n{tag}\n" for tag in tags).encode()


def unpack_tags(data: bytes) -> list[str]:
    """Unpack tags."""
    return data.decode().strip("\n").split("\n\n") if data else []
