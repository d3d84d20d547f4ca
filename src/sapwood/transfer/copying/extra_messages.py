"""Messages that a session has on the target, and that its source never had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ...model import Message
from ..plan import CHUNK
from ..stored_messages import StoredMessages
from ..walk import SessionWalk
from .sides import Sides


def iter_extras(sides: Sides, name: str, *, with_inherited: bool = False) -> Iterator[Message]:
    """Go over the messages that the session wrote on the target, and give the extra ones."""
    source = StoredMessages(sides.source, sides.owner, name)
    walk = SessionWalk(sides.target, sides.owner, name, skip_inherited=not with_inherited)
    steps = walk.steps(sides.target.list_leaves(sides.owner, name))
    for chunk in _chunks(step.place for step in steps if isinstance(step.place, Message)):
        known = source.find([message.id for message in chunk])
        for message in chunk:
            if message.id not in known and not source.is_deleted(message.id):
                yield message


def _chunks(messages: Iterable[Message]) -> Iterator[list[Message]]:
    left = iter(messages)
    while chunk := list(islice(left, CHUNK)):
        yield chunk
