"""Messages that a session has on the target and not in the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from ...model import Message
from ..plan import CHUNK
from ..stored import Stored
from ..walk import Walk
from .sides import Sides


class Extra(NamedTuple):
    """A message of the target; the source may have deleted it, or never had it."""

    message: Message
    was_deleted: bool


def iter_extras(sides: Sides, name: str, *, with_inherited: bool = False) -> Iterator[Extra]:
    """Go over the messages that the session wrote on the target, and give the extra ones."""
    source = Stored(sides.source, sides.owner, name)
    walk = Walk(sides.target, sides.owner, name, skip_inherited=not with_inherited)
    steps = walk.steps(sides.target.list_leaves(sides.owner, name))
    for chunk in _chunks(step.message for step in steps):
        known = source.find([message.id for message in chunk])
        for message in chunk:
            if message.id not in known:
                yield Extra(message, source.is_deleted(message.id))


def is_cut_out(sides: Sides, message: Message, parent: str | None) -> bool:
    """Tell whether all that a message has between itself and a parent is deleted in the source.

    What the session inherited there does not count: it is not deleted through this session.
    """
    source = Stored(sides.source, sides.owner, message.home or "")
    target = Stored(sides.target, sides.owner, message.home or "")
    depth = message.depth
    while (above := target.above(message, depth)) is not None and above.id != parent:
        if above.home != message.home or source.find([above.id]):
            return False
        if not source.is_deleted(above.id):
            return False
        depth = above.depth
    return above is not None or parent is None


def _chunks(messages: Iterable[Message]) -> Iterator[list[Message]]:
    left = iter(messages)
    while chunk := list(islice(left, CHUNK)):
        yield chunk
