"""What a write depends on, and what comes along with it, by the state that it is decided by.

The record is only created right after that state, so that nothing else has to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from ...model import Fence
from ..base.extras import DocumentWrite, Extras
from ..base.refusals import lease_lost, refuse_stale_session, session_closed
from .documents import document_work
from .session_record import patched
from .state import LogState
from .work import ChangeProfile, LogWork


def refuse_lost(state: LogState, fences: Iterable[Fence]) -> None:
    """Refuse a write when one of its fences does not hold any more."""
    for fence in fences:
        kept = state.documents.get(fence.key)
        if kept is None or kept.version != fence.version:
            raise lease_lost(fence.key, state.session)


def refuse_closed(state: LogState) -> None:
    """Refuse a write that a closed session does not take."""
    if state.profile.closed:
        raise session_closed(state.session)


def refuse_by_extras(state: LogState, extras: Extras) -> None:
    """Refuse a write when what it depends on does not hold."""
    refuse_lost(state, extras.fences)
    refuse_stale_session(state.session, state.version, extras.expected_version)


def extra_works(state: LogState, extras: Extras, now: int) -> list[LogWork]:
    """Return how what comes along is recorded, the patch first; refuse a document's version."""
    works: list[LogWork] = []
    if extras.patch is not None:
        active_us = None if extras.patch.active_us is UNSET else extras.patch.active_us
        works.append(ChangeProfile(patched(state.profile, extras.patch), now, active_us))
    changes = [document_work(state, new, now) for new in extras.documents]
    return works + [it for it in changes if it is not None]


def versions_of(state: LogState, documents: Iterable[DocumentWrite]) -> dict[str, int]:
    """Return the versions that documents have, 0 for what is not there."""
    kept = {new.key: state.documents.get(new.key) for new in documents}
    return {key: 0 if it is None else it.version for key, it in kept.items()}
