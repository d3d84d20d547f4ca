"""What a copy tells while it runs. Each event is a JSON object by `msgspec.json.encode`, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

CopyStatus = Literal["copied", "updated", "equal", "gone"]


class _CopyEventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What all events share: they say which they are."""


class CopyBegun(_CopyEventBase, frozen=True, kw_only=True, tag="began"):
    """The copy begins: so many owners, and about so many messages of theirs."""

    owners: int
    messages: int


class CopyProgress(_CopyEventBase, frozen=True, kw_only=True, tag="progress"):
    """So many messages were gone over to be written, and so many were found equal after that."""

    gone_over: int
    verified: int
    messages: int


class SessionCopied(_CopyEventBase, frozen=True, kw_only=True, tag="session"):
    """A session is on both sides, and equal.

    It is "copied" when it is new, "updated" when it was there and something was missing, "equal"
    when nothing was, and "gone" when it was deleted from the source meanwhile. `session` is None
    for the documents of the owner.
    """

    owner: str
    session: str | None
    status: CopyStatus
    messages: int
    written: int
    notes: list[str]


class CopyFailed(_CopyEventBase, frozen=True, kw_only=True, tag="failed"):
    """A session, or with None the documents of the owner, was not copied, or not to the end."""

    owner: str
    session: str | None
    error: str
    """The code of the error."""
    message: str


class CopyDone(_CopyEventBase, frozen=True, kw_only=True, tag="done"):
    """The copy is over; so many sessions of each kind, and messages that were written."""

    copied: int
    updated: int
    equal: int
    failed: int
    written: int


CopyEvent = CopyBegun | CopyProgress | SessionCopied | CopyFailed | CopyDone
OnEvent = Callable[[CopyEvent], None]
