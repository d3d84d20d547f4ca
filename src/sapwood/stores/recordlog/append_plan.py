"""Deciding where a batch goes, and what its record says: pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...model import Message
from ...rules.codec import Packed
from ...rules.tree import Place
from .place import log_of, number_of, segment_name, to_wire
from .state import LogState
from .work import Append, AppendedMessage


def append_after(
    state: LogState, batch: Sequence[Packed], after: Place | None, base: int, now: int
) -> Append:
    """Return the record of messages that follow a position: in its segment, if that ends there."""
    said = [
        AppendedMessage(
            it.id, it.role, it.tokens, now if it.created_us is None else it.created_us, it.body
        )
        for it in batch
    ]
    first = 1 if after is None else after.depth + 1
    if after is not None and _ends_at(state, after):
        return Append(now, number_of(after.segment), first, False, None, base, said)
    number = len(state.segments) + 1
    return Append(now, number, first, True, to_wire(after, state.log), base, said)


def _ends_at(state: LogState, after: Place) -> bool:
    number = number_of(after.segment)
    return (
        log_of(after.segment) == state.log
        and number > state.retired
        and state.segments[number - 1].last == after.depth
    )


def appended(state: LogState, work: Append, batch: Sequence[Packed]) -> list[Message]:
    """Return the messages of a batch as they were stored."""
    segment = segment_name(state.own(work.number))
    return [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            segment=segment,
            depth=depth,
            home=state.session,
            tokens=it.tokens,
            version=1,
            created_us=said.created_us,
        )
        for depth, (it, said) in enumerate(zip(batch, work.messages, strict=True), work.first)
    ]
