"""From lines to what a store is asked to write."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from ..model import Edge, EntryRef, ForkPoint, Message, NewMessage, NewOverlay, NewSession, Usage
from .lines import MessageLine, OverlayLine, PlaceLine, SessionLine, UsageLine

FOR_A_GAP = {"sapwood": "the place of a deleted message"}


def new_session(line: SessionLine, parent: Edge | None) -> NewSession:
    """Make a session to create of its line."""
    fork = line.fork
    return NewSession(
        id=line.id,
        title=line.title,
        state=line.state,
        tags=line.tags,
        data=line.data,
        budget=line.budget,
        parent=parent,
        fork=ForkPoint(session=fork.session, message=fork.message) if fork else None,
        created_us=line.created_us,
    )


def new_place(line: PlaceLine) -> NewMessage:
    """Make what is appended for a line; for a gap, an empty message that is deleted again."""
    if not isinstance(line, MessageLine):
        return NewMessage(id=line.id, role="user", parts=[], metadata=FOR_A_GAP, tokens=0)
    return NewMessage(
        id=line.id,
        role=line.role,
        parts=line.parts,
        metadata=line.metadata,
        tokens=line.tokens,
        created_us=line.created_us,
    )


def runs_of(lines: Iterable[PlaceLine]) -> Iterator[tuple[str | None, list[NewMessage]]]:
    """Put lines together that follow each other; yield what is appended, and after which parent."""
    run: list[NewMessage] = []
    parent: str | None = None
    for line in lines:
        if run and line.parent != run[-1].id:
            yield parent, run
            run = []
        parent = parent if run else line.parent
        run.append(new_place(line))
    if run:
        yield parent, run


def count_messages(run: Sequence[NewMessage], written: int) -> int:
    """Count what of a run was written and is there to stay: what was there is its beginning."""
    return sum(not is_for_a_gap(it) for it in run[len(run) - written :])


def is_for_a_gap(message: Message | NewMessage) -> bool:
    """Whether a message stands only where a gap is to be."""
    return message.metadata == FOR_A_GAP and not message.parts


def new_overlay(line: OverlayLine) -> NewOverlay:
    """Make an overlay to add of its line, as seen from its own end."""
    return NewOverlay(
        id=line.id,
        first=EntryRef.of(line.first),
        last=EntryRef.of(line.last),
        leaf=line.last,
        summary=line.summary,
        tokens=line.tokens,
        metadata=line.metadata,
    )


def new_usage(line: UsageLine) -> Usage:
    """Make a record of one call of a sum; its id is the model's, so that it counts once."""
    name = hashlib.sha256(line.model.encode()).hexdigest()[:16]
    return Usage(
        id=f"import-{name}",
        model=line.model,
        input_tokens=line.input_tokens,
        output_tokens=line.output_tokens,
        cached_tokens=line.cached_tokens,
        reasoning_tokens=line.reasoning_tokens,
        cost_micros=line.cost_micros,
    )
