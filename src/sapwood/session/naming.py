"""How messages and overlays are named in calls: by the record itself, or by its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from ..model import Message, Overlay, Root, Summary

MessageRef = Message | str
Place = Message | str | Root
OverlayRef = Overlay | Summary | str


@overload
def id_of(place: MessageRef) -> str: ...
@overload
def id_of(place: Place) -> str | Root: ...
@overload
def id_of(place: Place | None) -> str | Root | None: ...
def id_of(place: Place | None) -> str | Root | None:
    """Give a message's id; `ROOT` and None stay what they are."""
    return place.id if isinstance(place, Message) else place


def ids_of(messages: MessageRef | Sequence[MessageRef]) -> list[str]:
    """Give the ids of one message or of several."""
    if isinstance(messages, (Message, str)):
        return [id_of(messages)]
    return [id_of(message) for message in messages]


def overlay_id_of(overlay: OverlayRef) -> str:
    """Give an overlay's id, also that of the one which a summary shows."""
    if isinstance(overlay, Summary):
        return overlay.overlay.id
    return overlay.id if isinstance(overlay, Overlay) else overlay
