"""How messages and overlays are named in calls: by the record itself, or by its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from ..errors import UsageError
from ..model import Message, Overlay, Root, Summary
from ..rules import check
from ..rules.wording import a_kind

MessageRef = Message | str
PlaceRef = Message | str | Root
OverlayRef = Overlay | Summary | str


@overload
def id_of(place: MessageRef) -> str: ...
@overload
def id_of(place: PlaceRef) -> str | Root: ...
@overload
def id_of(place: PlaceRef | None) -> str | Root | None: ...
def id_of(place: PlaceRef | None) -> str | Root | None:
    """Return a message's id; `ROOT` and None stay what they are."""
    return place.id if isinstance(place, Message) else place


def check_place(place: object, what: str) -> None:
    """Refuse what is no message, no id and not `ROOT`."""
    if isinstance(place, str):
        check.name(place, what)
    elif not isinstance(place, (Message, Root)):
        raise UsageError(
            f"{what} must be a message, its id or ROOT, not {a_kind(place)}", path=what
        )


def ids_of(messages: MessageRef | Sequence[MessageRef]) -> list[str]:
    """Return the ids of one message or of several."""
    if isinstance(messages, (Message, str)):
        return [id_of(messages)]
    if not isinstance(messages, Sequence):
        raise UsageError(
            f"messages is {a_kind(messages)}: give a message, its id, or a list of these",
            path="messages",
        )
    ids = [id_of(message) for message in messages]
    for index, id in enumerate(ids):
        check.name(id, f"messages[{index}]")
    return ids


def overlay_id_of(overlay: OverlayRef) -> str:
    """Return an overlay's id, also that of the one which a summary shows."""
    if isinstance(overlay, Summary):
        return overlay.overlay.id
    return overlay.id if isinstance(overlay, Overlay) else overlay
