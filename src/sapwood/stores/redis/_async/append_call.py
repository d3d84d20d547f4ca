"""The call of the script `append`, for one caller or several, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import Appended, Message
from ....rules.codec import Packed
from ...base.appends import Request
from ..entries import SEP
from ..place_words import place_words
from .client import ScriptCall
from .context import AsyncRedisContext
from .trees import MARKED_US


def append_call(
    context: AsyncRedisContext,
    callers: Sequence[tuple[Request, str]],
    state: str = "",
    parent: tuple[str, str] | None = None,
) -> ScriptCall:
    """Return the call for requests, each with its tree.

    One that was planned has the state of its tree, and the words for the place that it follows.
    """
    keys = [context.keys.tree(tree) for _, tree in callers]
    marks: dict[str, str] = {}
    if not context.client.is_cluster:
        # One server holds all keys: the marks are made by the script itself.
        for owner in {request.owner: None for request, _ in callers}:
            keys.append(context.keys.owner(owner, "h"))
            marks[owner] = str(len(keys))
    ttl = "" if context.ttl_us is None else str(context.ttl_us)
    shared = (str(len(callers)), context.directory.time(), ttl, str(MARKED_US))
    # The driver is slow with many arguments.
    args: list[Any] = [SEP.join(shared)]
    for request, tree in callers:
        words = (
            str(len(request.batch)),
            request.session,
            context.marks.get(tree, "0"),
            marks.get(request.owner, ""),
            state,
            *(parent or place_words(request.parent)),
            *place_words(request.expected_tip),
            "".join([_message_words(it) for it in request.batch]),
        )
        args.append(SEP.join(words))
        args += [_stored_part(it) for it in request.batch]
    return ScriptCall("append", keys, args)


def _message_words(it: Packed) -> str:
    """Return what the script has to know of a message beside what is stored."""
    created = "" if it.created_us is None else it.created_us
    return f"{'' if it.is_ours else '1'} {it.tokens} {created};"


def _stored_part(it: Packed) -> bytes:
    """Return the part of an entry that is known here."""
    return f"{it.role}{SEP}{it.id}\n".encode() + it.body


def appended_of(
    context: AsyncRedisContext, request: Request, tree: str, answer: Sequence[bytes]
) -> Appended | None:
    """Return what was appended; None, and nothing was written, when it has to be planned."""
    if answer[0] != b"ok":
        return None
    _, segment, first, now, known, deadline, version, created = answer
    context.marks[tree] = deadline.decode()
    batch = request.batch
    return Appended(
        messages=_written(batch, request.session, segment.decode(), int(first), int(now)),
        written=len(batch),
        tip=batch[-1].id,
        context_tokens=int(known) if known else None,
        stamp=(int(version), int(created)),
    )


def _written(
    batch: Sequence[Packed], session: str, segment: str, first: int, now: int
) -> list[Message]:
    return [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            segment=segment,
            depth=depth,
            home=session,
            tokens=it.tokens,
            version=1,
            created_us=now if it.created_us is None else it.created_us,
        )
        for depth, it in enumerate(batch, first)
    ]
