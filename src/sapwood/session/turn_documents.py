"""What is stored of turns: the lease, which turn is open, the records, the marks on messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import AlreadyExistsError, UsageError
from ..model import (
    DocumentChange,
    DocumentDelete,
    DocumentPut,
    Message,
    NewMessage,
    TurnRecord,
)
from ..rules.turns import is_said_by_user

TURN_LEASE = "turn"
"""The document that expires when the process that holds the turn is gone."""
OPEN_TURN = "turn-open"
"""The document that names the turn which is open, until it is let go: a lease leaves no trace."""
TURN_RECORDS = "turn/"
MARK = "turn"
PARTIAL = "partial"
"""The state of a message that is still being written; else it is that of its turn."""


class TurnHolder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the lease says: whose it is, by a mark of the holder's own, and whether to stop."""

    turn: str = ""
    mark: str | None = None
    stopped: bool = False


class OpenTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which turn is open, and which message it writes bit by bit."""

    turn: str = ""
    answer: str | None = None


def put_open(open_turn: OpenTurn, expected_version: int | None = None) -> DocumentPut:
    """Say which turn is open."""
    value = msgspec.json.encode(open_turn)
    return DocumentPut(key=OPEN_TURN, value=value, expected_version=expected_version, inherit=False)


def put_record(record: TurnRecord, expected_version: int | None = None) -> DocumentPut:
    """Write a turn's record."""
    return DocumentPut(
        key=TURN_RECORDS + record.id,
        value=msgspec.json.encode(record),
        expected_version=expected_version,
        inherit=False,
    )


def ending(record: TurnRecord, *, was_held: bool) -> list[DocumentChange]:
    """Let go what a turn holds, and write its record; one that held nothing sees that none is."""
    version = None if was_held else 0
    return [
        DocumentDelete(key=TURN_LEASE, expected_version=version),
        DocumentDelete(key=OPEN_TURN, expected_version=version),
        put_record(record, version),
    ]


def mark_of(message: Message) -> dict[str, Any]:
    """Return what a message says of its turn: `id`, `state` and `session`, or nothing."""
    mark = message.extra.get(MARK)
    return mark if isinstance(mark, dict) else {}


def turn_id_of(turn: Message | str) -> str:
    """Return a turn's id, also by one of its messages."""
    return str(mark_of(turn).get("id", turn.id)) if isinstance(turn, Message) else turn


def marked(
    new: NewMessage, turn: str, state: str, session: str, sent: str | None = None
) -> NewMessage:
    """Let a message say which turn it belongs to, and what was sent along with it."""
    extra = {} if isinstance(new.extra, msgspec.UnsetType) else new.extra
    if sent is not None:
        if not isinstance(sent, str) or new.role != "user":
            raise UsageError("sent is text that goes along with a user's message", path="sent")
        extra = {**extra, "sent": sent}
    mark = {"id": turn, "state": state, "session": session}
    return msgspec.structs.replace(new, extra={**extra, MARK: mark})


def again(message: Message, turn: str, state: str, session: str) -> NewMessage:
    """Make a stored message into the one that replaces it, with another mark."""
    new = NewMessage(
        id=message.id,
        role=message.role,
        parts=message.parts,
        metadata=message.metadata,
        name=message.name,
        tokens=message.tokens,
        extra=message.extra,
    )
    return marked(new, turn, state, session)


def taken_up(id: str, record: TurnRecord | None, last: Message) -> tuple[TurnRecord, str]:
    """Return a turn's record for its next attempt, and what its last message says from then on."""
    state = mark_of(last).get("state", "open")
    if state == "complete":
        raise AlreadyExistsError(
            f"the turn {id!r} is complete: to answer it anew, go back by retry_from first"
        )
    if record is None:
        return TurnRecord(id=id), "open"
    is_waiting = record.state == "waiting"
    attempts = record.attempts + (0 if is_waiting else 1)
    # What was cut off stays so; what waits, or was said by the user, was not.
    goes_on = state == "waiting" or is_said_by_user(last)
    return TurnRecord(id=id, attempts=attempts), "open" if goes_on else state


def with_ids(
    new: list[NewMessage], new_id: Callable[[], str] | None, *, is_first: bool
) -> list[NewMessage]:
    """Let messages have ids; the first one's of all is the turn's, too."""
    if not new:
        raise UsageError("messages is empty: give at least one", path="messages")
    if new_id is not None:
        replace = msgspec.structs.replace
        return [it if it.id is not None else replace(it, id=new_id()) for it in new]
    if is_first and new[0].id is None:
        raise UsageError("a session from a builder needs an id for a turn's message", path="id")
    return new
