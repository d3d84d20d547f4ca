"""Editing and deleting messages, through their home or when that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import ConflictError, NotFoundError
from ...model import ChangeKind, Deleted
from ...rules.codec import Packed
from ...rules.tree import Place
from .feed import log
from .lookup import find_place, get_place, on_path, row_at
from .state import MessageRow, OverlayRow, SessionRow, State
from .view import settle_sum
from .writing import replace_row


def update(state: State, session: SessionRow, message: Packed) -> Place:
    """Replace a message's content; its place, time and first digest stay."""
    place = find_place(state, session, message.id)
    if place is None or row_at(state, place).body is None:
        raise NotFoundError(
            f"session {session.id!r} sees no message {message.id!r}", kind="message", id=message.id
        )
    if state.segments[place.segment].home != session.home:
        raise ConflictError(
            f"message {message.id!r} is inherited: it is edited through the session that wrote it"
        )
    stored = row_at(state, place)
    row = replace(
        stored,
        role=message.role,
        body=message.body,
        tokens=message.tokens,
        version=stored.version + 1,
    )
    _change(state, session, place, row, ChangeKind.UPDATE, state.clock())
    settle_sum(state, session)
    return place


def delete(state: State, session: SessionRow, ids: Sequence[str]) -> Deleted:
    """Erase messages; their positions and ids stay."""
    places = _to_erase(state, session, ids)
    quoting = _quoting_overlays(state, session, list(places.values()))
    now = state.clock()
    for place in places.values():
        row = replace(row_at(state, place), role="", body=None, digest=None, tokens=0)
        _change(state, session, place, row, ChangeKind.DELETE, now)
        if state.segments[place.segment].home == session.home:
            session.messages -= 1
    settle_sum(state, session)
    return Deleted(ids=list(places), quoting_overlays=[row.id for row in quoting])


def _change(
    state: State, session: SessionRow, place: Place, row: MessageRow, kind: ChangeKind, now: int
) -> None:
    number = log(state, session, kind, now, row.id, place.depth)
    replace_row(state, place, row, number)


def _to_erase(state: State, session: SessionRow, ids: Sequence[str]) -> dict[str, Place]:
    places = {}
    for id in ids:
        place = get_place(state, session, id)
        if place is None or row_at(state, place).body is None:
            continue
        home = state.homes.get(state.segments[place.segment].home)
        if home is not None and home is not session:
            raise ConflictError(
                f"message {id!r} is inherited: it is deleted through session {home.id!r}, "
                "which wrote it"
            )
        places[id] = place
    return places


def _quoting_overlays(
    state: State, session: SessionRow, places: Sequence[Place]
) -> list[OverlayRow]:
    rows: dict[int, OverlayRow] = {}
    for home in state.trees[session.tree].homes:
        rows |= state.homes[home].overlays
    return [
        row
        for _, row in sorted(rows.items())
        if any(
            row.first.depth <= place.depth and on_path(state, place, row.last) for place in places
        )
    ]
