"""From lines to what a store is asked to write."""

from __future__ import annotations

import hashlib

from ..model import Edge, EntryRef, ForkPoint, NewMessage, NewOverlay, NewSession, Usage
from .lines import MessageLine, OverlayLine, SessionLine, UsageLine


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


def new_message(line: MessageLine) -> NewMessage:
    """Make a message to append of its line."""
    return NewMessage(
        id=line.id,
        role=line.role,
        parts=line.parts,
        metadata=line.metadata,
        tokens=line.tokens,
        created_us=line.created_us,
    )


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
