"""A session's record: changed by patches, and as users see it."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from ...model import ROOT, Edge, EdgeKind, SessionPatch, SessionRecord
from ...rules.codec import decode_json, encode_json
from .place import public
from .state import LogState
from .work import LogProfile


def patched(profile: LogProfile, patch: SessionPatch) -> LogProfile:
    """Return a profile with what a patch gives."""
    if patch.title is not UNSET:
        profile = replace(profile, title=patch.title)
    if patch.state is not UNSET:
        profile = replace(profile, state=patch.state)
    if patch.tags is not UNSET:
        profile = replace(profile, tags=list(patch.tags))
    if patch.data is not UNSET:
        profile = replace(profile, data=encode_json(patch.data, "data"))
    if patch.budget is not UNSET:
        profile = replace(profile, budget=patch.budget)
    return profile


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
        data=decode_json(profile.data, f"the data of session {state.session!r}"),
        budget=profile.budget,
        parent=edge,
        forked_at=None if state.fork is None else public(state.fork),
        messages=state.messages,
        context_tokens=context,
        version=state.version,
        created_us=state.created_us,
        active_us=state.active_us,
    )
