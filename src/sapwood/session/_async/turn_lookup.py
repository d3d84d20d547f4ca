"""Turns looked up: how they stand, and a message that is being written."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from ...model import Document, Message, TurnRecord
from ...rules import check
from ...stores.base.queues import AsyncCallerQueues
from ..references import MessageRef, id_of
from ..turn_documents import PARTIAL, TURN_RECORDS, mark_of, turn_id_of
from .stored_session import AsyncStoredSession
from .turn_lease import holder_of


async def find_turn(stored: AsyncStoredSession, turn: MessageRef) -> TurnRecord | None:
    """Return how a turn stands; None when there is none."""
    id = turn_id_of(turn)
    check.name(id, "turn")
    document = await stored.find_document(TURN_RECORDS + id)
    return None if document is None else await _derived(stored, document)


async def list_turns(stored: AsyncStoredSession, after: str | None, limit: int) -> list[TurnRecord]:
    """List turns in the order of their ids."""
    check.count(limit, "limit", 1)
    found = await stored.store.list_documents(
        stored.owner,
        TURN_RECORDS,
        session=stored.id,
        after=None if after is None else TURN_RECORDS + after,
        limit=limit,
    )
    return [await _derived(stored, document) for document in found]


async def _derived(stored: AsyncStoredSession, document: Document) -> TurnRecord:
    """Return how a turn stands: one that is open while nobody holds it was interrupted."""
    while True:
        key = document.key
        record = stored.decoded(key, document, TurnRecord)
        if record.state != "open":
            return record
        holder = await holder_of(stored)
        if holder is not None and holder.turn == record.id:
            return record
        # It may have come to its end, or been begun, between the two looks.
        now = await stored.find_document(key)
        if now is None or now.version == document.version:
            return msgspec.structs.replace(record, state="interrupted", reason="died")
        document = now


async def iter_answer(
    stored: AsyncStoredSession, message: MessageRef, pause_s: float
) -> AsyncIterator[Message]:
    """Give a message each time that it has grown, until it is whole, or its turn is over."""
    id, version, is_last = id_of(message), -1, False
    while True:
        found = await stored.get_message(id)
        has_grown = found.version != version
        if has_grown:
            version = found.version
            yield found
        mark = mark_of(found)
        if mark.get("state") != PARTIAL or is_last:
            return
        if not has_grown:
            turn = await find_turn(stored, str(mark.get("id")))
            is_last = turn is None or turn.state != "open"
        if not is_last:
            await AsyncCallerQueues.pause(pause_s)
