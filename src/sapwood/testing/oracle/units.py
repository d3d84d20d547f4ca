"""What a write depends on, and what comes along with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import UnsetType
from msgspec.structs import asdict

from ...errors import (
    LeaseLostError,
    SapwoodError,
    SessionClosedError,
    StaleTipError,
    StaleVersionError,
)
from ...model import (
    ROOT,
    DocumentChange,
    DocumentPut,
    Fence,
    Position,
    Root,
    SessionPatch,
    SystemFields,
    SystemPatch,
)
from .base import name_of
from .node import Node, data_node
from .session import Kept, Session


@dataclass(frozen=True)
class Along:
    """What a call is given beside what it is for."""

    fence: Sequence[Fence] = ()
    expected_version: int | None = None
    documents: Sequence[DocumentChange] = ()
    patch: SessionPatch | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What a store's call is given; a fence that is the only one stands by itself."""
        given = {name: value for name, value in vars(self).items() if value not in (None, ())}
        if len(self.fence) == 1:
            given["fence"] = self.fence[0]
        return given


NOTHING = Along()


def wrong_with(session: Session, along: Along, now_us: int) -> list[type[SapwoodError]]:
    """Return the errors of all that does not hold of what a write depends on."""
    wrong = lost(session, along.fence)
    if along.expected_version not in (None, session.version):
        wrong.append(StaleVersionError)
    if any(_is_stale(session.documents.get(it.key), it, now_us) for it in along.documents):
        wrong.append(StaleVersionError)
    return wrong


def lost(session: Session, fences: Sequence[Fence]) -> list[type[SapwoodError]]:
    """Return the error of a fence whose document is not there at its version, expired or not."""
    held = {key: kept.version for key, kept in session.documents.items()}
    is_lost = any(held.get(fence.key) != fence.version for fence in fences)
    return [LeaseLostError] if is_lost else []


def closed(session: Session) -> list[type[SapwoodError]]:
    """Return the error of what a closed session does not take."""
    return [SessionClosedError] if session.closed else []


def stale_tip(session: Session, expected: str | Root | None) -> list[type[SapwoodError]]:
    """Return the error of a tip that is not the expected one."""
    return [] if expected is None or expected in tips(session) else [StaleTipError]


def tips(session: Session) -> list[str | Root]:
    """Return what the tip is called: by its own name, and by that of what only marks follow."""
    node = session.tip
    names = [name_of(node)]
    while node is not None and node.mark:
        node = node.parent
        names.append(name_of(node))
    return names


def stale_data(node: Node | None, expected: Position | Root | None) -> list[type[SapwoodError]]:
    """Return the error of data that is not the expected version, at the node to be followed."""
    if expected is None:
        return []
    held = data_node(node)
    at = ROOT if held is None else held.position
    return [] if at == expected else [StaleVersionError]


def _is_stale(kept: Kept | None, change: DocumentChange, now_us: int) -> bool:
    expected = change.expected_version
    if expected == 0:
        return kept is not None and not kept.is_expired(now_us)
    return expected is not None and (kept is None or kept.version != expected)


def write(session: Session, along: Along, now_us: int) -> None:
    """Change documents and the record, once it is known that all holds."""
    for change in along.documents:
        if isinstance(change, DocumentPut):
            replaced = session.documents.get(change.key)
            session.documents[change.key] = _kept(change, now_us, replaced)
        else:
            session.documents.pop(change.key, None)
    if along.patch is not None:
        change_record(session, along.patch)


def _kept(put: DocumentPut, now_us: int, replaced: Kept | None) -> Kept:
    seconds = put.expires_in_s
    expires_us = None if seconds is None else now_us + round(seconds * 1_000_000)
    was_there = replaced is not None and not replaced.is_expired(now_us)
    created_us = replaced.created_us if replaced is not None and was_there else now_us
    return Kept(put.value, created_us, expires_us, put.inherit)


def change_record(session: Session, patch: SessionPatch) -> None:
    """Change a session's title, tags, attributes, model, end reason, or whether it is closed."""
    if isinstance(patch.title, str) or patch.title is None:
        session.title = patch.title
    session.tags = patch.tags if isinstance(patch.tags, list) else session.tags
    if isinstance(patch.attributes, dict):
        session.attributes = patch.attributes
    if isinstance(patch.merge, dict):
        session.attributes = _merged(session.attributes, patch.merge)
    if patch.model is None or isinstance(patch.model, str):
        session.model = patch.model
    if patch.end_reason is None or isinstance(patch.end_reason, str):
        session.end_reason = patch.end_reason
    if isinstance(patch.active_us, int):
        session.active_us = patch.active_us
    if isinstance(patch.system, SystemPatch):
        kept = asdict(session.system) | {
            name: value
            for name, value in asdict(patch.system).items()
            if not isinstance(value, UnsetType)
        }
        session.system = SystemFields(**kept)
    session.closed = patch.closed if isinstance(patch.closed, bool) else session.closed
    session.version += 1


def _merged(held: Any, merge: dict[str, Any]) -> dict[str, Any]:
    fields = {**held} if isinstance(held, dict) else {}
    taken_out = [name for name, value in merge.items() if value is None]
    for name in merge:
        is_object = isinstance(merge[name], dict)
        fields[name] = _merged(fields.get(name), merge[name]) if is_object else merge[name]
    return {name: fields[name] for name in fields if name not in taken_out}


def inherited(session: Session) -> dict[str, Kept]:
    """Return copies of the documents that a fork takes, whose versions are the store's to give."""
    return {
        key: replace(kept, version=None)
        for key, kept in session.documents.items()
        if kept.inherit and kept.expires_us is None
    }


def left_by_a_clear(session: Session) -> dict[str, Kept]:
    """Return the documents that a session keeps when it begins again."""
    return {
        key: kept
        for key, kept in session.documents.items()
        if kept.inherit and kept.expires_us is None and key != "pins"
    }
