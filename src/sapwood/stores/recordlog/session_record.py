"""A session's record: changed by patches, as users see it, and among others on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from ...model import (
    ROOT,
    Edge,
    EdgeKind,
    NewSession,
    Position,
    Root,
    SessionPatch,
    SessionQuery,
    SessionRecord,
)
from ...rules.codec import decode_json, encode_json
from ...rules.merge import merge_json
from ...rules.system import merged
from ..base.listing import is_listed, read_cursor, second_of
from .state import LogState
from .work import LogProfile, public

PageKey = tuple[int, str]

_CURSOR = re.compile(r"(active|created|updated)\.(-?[0-9]{1,20})\.([0-9a-f]{1,40})", re.ASCII)


def patched(profile: LogProfile, patch: SessionPatch | NewSession) -> LogProfile:
    """Return a profile with what a patch, or a new session, gives."""
    fields = {name: getattr(patch, name, UNSET) for name in LogProfile.__struct_fields__}
    given = {name: it for name, it in fields.items() if it is not UNSET}
    if isinstance(patch, SessionPatch) and patch.system is not UNSET:
        given["system"] = merged(profile.system, patch.system)
    if isinstance(patch, SessionPatch) and patch.merge is not UNSET:
        held = decode_json(profile.attributes, "the attributes that are changed")
        given["attributes"] = merge_json(held, patch.merge)
    if "tags" in given:
        given["tags"] = list(given["tags"])
    if "attributes" in given:
        given["attributes"] = encode_json(given["attributes"], "attributes")
    return replace(profile, **given)


def tip_of(state: LogState) -> str | Root:
    """Return the tip as users name it."""
    return ROOT if state.tip_id is None else state.tip_id


def record_of(state: LogState, context: int, data_at: Position | None) -> SessionRecord:
    """Return a session as users see it."""
    profile = state.profile
    edge = state.parent and Edge(kind=EdgeKind(state.parent[0]), session=state.parent[1])
    return SessionRecord(
        id=state.session,
        tip=tip_of(state),
        tip_position=None if state.tip is None else public(state.tip),
        title=profile.title,
        kind=profile.kind,
        state=profile.state,
        tags=list(profile.tags),
        attributes=decode_json(profile.attributes, f"session {state.session!r}"),
        budget=profile.budget,
        model=profile.model,
        source=profile.source,
        end_reason=profile.end_reason,
        closed=profile.closed,
        system=profile.system,
        parent=edge,
        forked_at=None if state.fork is None else public(state.fork),
        messages=state.messages,
        context_tokens=context,
        version=state.version,
        created_us=state.created_us,
        active_us=state.active_us,
        updated_us=updated_us_of(state),
        data_at=data_at,
    )


def updated_us_of(state: LogState) -> int:
    """Return when a session was last written to; earlier versions did not keep it."""
    return state.updated_us or max(state.created_us, state.active_us)


def page_of(states: Iterable[LogState], query: SessionQuery) -> tuple[list[LogState], str | None]:
    """Return a page of sessions in the order asked for, and the cursor that continues it."""
    after = read_cursor(query, _CURSOR)
    start = None if after is None else (int(after[2]), after[3])
    found = [
        state
        for state in states
        if _is_after(_key(state, query.order), start, query) and _is_listed(state, query)
    ]
    found.sort(key=lambda state: _key(state, query.order), reverse=not query.reverse)
    page = found[: query.limit]
    if len(found) <= query.limit:
        return page, None
    second, log = _key(page[-1], query.order)
    return page, f"{query.order}.{second}.{log}"


def _key(state: LogState, order: str) -> PageKey:
    return second_of(order, state.active_us, updated_us_of(state)), state.log


def _is_after(key: PageKey, start: PageKey | None, query: SessionQuery) -> bool:
    return start is None or (key > start if query.reverse else key < start)


def _is_listed(state: LogState, query: SessionQuery) -> bool:
    profile = state.profile
    return is_listed(
        query,
        title=profile.title,
        kind=profile.kind,
        state=profile.state,
        tags=profile.tags,
        key=profile.system.key,
        parent=None if state.parent is None else state.parent[1],
        created_us=state.created_us,
        active_us=state.active_us,
    )
