"""Session rows: made from what a client asks for, changed by patches, given as records."""

from __future__ import annotations

from msgspec import UNSET

from ...model import Edge, EdgeKind, NewSession, SessionPatch, SessionRecord
from ...rules.codec import decode_json, encode_json
from .lookup import id_at, position
from .state import SessionRow, State, Tree


def new_row(state: State, owner: str, new: NewSession, source: SessionRow | None) -> SessionRow:
    """Make a session without messages, in its source's tree or in one of its own.

    It is not known by its id before `enter`.
    """
    now = state.clock() if new.created_us is None else new.created_us
    is_branch = source is not None and new.fork is not None and not new.fork.detach
    row = SessionRow(
        owner=owner,
        id=new.id,
        number=state.next_number(),
        home=state.next_number(),
        tree=source.tree if source is not None and is_branch else state.next_number(),
        title=new.title,
        state=new.state,
        tags=source.tags if source else (),
        data=source.data if source else b"{}",
        budget=source.budget if source else None,
        parent=_parent(new),
        created_us=now,
        active_us=now,
    )
    apply_patch(row, SessionPatch(tags=new.tags, data=new.data, budget=new.budget))
    state.trees.setdefault(row.tree, Tree())
    return row


def enter(state: State, row: SessionRow) -> None:
    """Make a session known by its id and its home."""
    tree = state.trees.setdefault(row.tree, Tree())
    rows = state.sessions.setdefault(row.owner, {})
    # No step calls or loops, so that an interrupt finds all of them done or none.
    tree.homes |= {row.home}
    state.homes[row.home] = row
    rows[row.id] = row


def _parent(new: NewSession) -> Edge | None:
    if new.parent is None and new.fork is not None:
        return Edge(kind=EdgeKind.BRANCH, session=new.fork.session)
    return new.parent


def apply_patch(row: SessionRow, patch: SessionPatch) -> None:
    """Change what a patch gives."""
    if patch.title is not UNSET:
        row.title = patch.title
    if patch.state is not UNSET:
        row.state = patch.state
    if patch.tags is not UNSET:
        row.tags = tuple(patch.tags)
    if patch.data is not UNSET:
        row.data = encode_json(patch.data, "data")
    if patch.budget is not UNSET:
        row.budget = patch.budget


def record_of(state: State, row: SessionRow) -> SessionRecord:
    """Give a session as users see it."""
    return SessionRecord(
        id=row.id,
        tip=id_at(state, row.tip),
        tip_position=None if row.tip is None else position(row.tip),
        title=row.title,
        state=row.state,
        tags=list(row.tags),
        data=decode_json(row.data, f"the data of session {row.id!r}"),
        budget=row.budget,
        parent=row.parent,
        forked_at=None if row.fork is None else position(row.fork),
        messages=row.messages,
        context_tokens=row.context_tokens,
        version=row.version,
        created_us=row.created_us,
        active_us=row.active_us,
    )
