"""A session's record: changed by patches, and as users see it."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import asdict, replace

from ...model import ROOT, Edge, EdgeKind, SessionPatch, SessionRecord
from ...rules.codec import decode_json, encode_json
from .place import public
from .state import LogState
from .work import LogProfile


def patched(profile: LogProfile, patch: SessionPatch) -> LogProfile:
    """Return a profile with what a patch gives."""
    changed = {name: value for name, value in asdict(patch).items() if value is not UNSET}
    if "attributes" in changed:
        changed["attributes"] = encode_json(changed["attributes"], "attributes")
    if "tags" in changed:
        changed["tags"] = list(changed["tags"])
    return replace(profile, **changed)


def record_of(state: LogState, context: int) -> SessionRecord:
    """Return a session as users see it."""
    profile = state.profile
    edge = None
    if state.parent is not None:
        edge = Edge(kind=EdgeKind(state.parent[0]), session=state.parent[1])
    return SessionRecord(
        id=state.session,
        tip=ROOT if state.tip_id is None else state.tip_id,
        tip_position=None if state.tip is None else public(state.tip),
        title=profile.title,
        state=profile.state,
        tags=list(profile.tags),
        attributes=decode_json(profile.attributes, f"session {state.session!r}"),
        budget=profile.budget,
        model=profile.model,
        source=profile.source,
        end_reason=profile.end_reason,
        parent=edge,
        forked_at=None if state.fork is None else public(state.fork),
        messages=state.messages,
        context_tokens=context,
        version=state.version,
        created_us=state.created_us,
        active_us=state.active_us,
    )
