"""Appending: one script where all is new, else planned by what the session sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import ROOT, Appended, Message, Root
from ....rules.append import AppendPlan, Known, plan_append
from ....rules.codec import Packed, decode_body, digest
from ...base.appends import Request
from ..rows import SEP, message_of, no_message, split_entry
from .context import AsyncContext
from .link import Asked
from .tree import MARKED_US, Look, MovedError, Placed


async def append_new(context: AsyncContext, request: Request) -> Appended | None:
    """Append a batch that is all new; None, and nothing written, when it has to be planned."""
    tree, answer = await context.directory.ask(
        request.owner, request.session, lambda tree: _ask(context, request, tree)
    )
    return _appended(context, request, tree, answer)


async def append_each(context: AsyncContext, requests: Sequence[Request]) -> list[Appended | None]:
    """Append for several callers in one go; None for those that have to try by themselves."""
    done: list[Appended | None] = [None] * len(requests)
    known = [context.directory.known(it.owner, it.session) for it in requests]
    here = [(n, tree) for n, tree in enumerate(known) if tree is not None]
    for _ in range(2):
        answers = await _ask_together(context, [(requests[n], tree) for n, tree in here])
        unmarked: list[tuple[int, str]] = []
        for (n, tree), answer in zip(here, answers, strict=True):
            if not isinstance(answer, Exception):
                done[n] = _appended(context, requests[n], tree, answer.split(b"\x1f"))
                unmarked += [(n, tree)] if answer == b"mark" else []
        here = unmarked
        await context.trees.mark_all([(requests[n].owner, tree) for n, tree in here])
    return done


async def _ask_together(
    context: AsyncContext, callers: Sequence[tuple[Request, str]]
) -> Sequence[bytes | Exception]:
    """Ask for several callers: by one script where one server has all their trees."""
    if not callers:
        return []
    if context.link.is_cluster:
        asked = [_asked(context, [it]) for it in callers]
        return await context.link.ask_all(asked)
    together = _asked(context, callers)
    answer: bytes = await context.link.ask(together.name, together.keys, *together.args)
    return answer.split(b"\n")


def _asked(
    context: AsyncContext,
    callers: Sequence[tuple[Request, str]],
    state: str = "",
    parent: tuple[str, str] | None = None,
) -> Asked:
    """Give the script's call; planned, it has the state of the tree and the parent's place."""
    keys = [context.keys.tree(tree) for _, tree in callers]
    places: dict[str, str] = {}
    if not context.link.is_cluster:
        # One server holds all keys: the marks are made by the script itself.
        for owner in {request.owner: None for request, _ in callers}:
            keys.append(context.keys.owner(owner, "h"))
            places[owner] = str(len(keys))
    ttl = "" if context.ttl_us is None else str(context.ttl_us)
    shared = (str(len(callers)), context.directory.time(), ttl, str(MARKED_US))
    # The driver is slow with many arguments.
    args: list[Any] = [SEP.join(shared)]
    for request, tree in callers:
        asked = (
            str(len(request.batch)),
            request.session,
            context.marks.get(tree, "0"),
            places.get(request.owner, ""),
            state,
            *(parent or _named(request.parent)),
            *_named(request.expected_tip),
            "".join([_mentioned(it) for it in request.batch]),
        )
        args.append(SEP.join(asked))
        args += [_stored_part(it) for it in request.batch]
    return Asked("append", keys, args)


def _mentioned(it: Packed) -> str:
    """Give what the script is told of a message beside what is stored."""
    created = "" if it.created_us is None else it.created_us
    return f"{'' if it.is_ours else '1'} {it.tokens} {created};"


def _stored_part(it: Packed) -> bytes:
    """Give the part of an entry that is known here."""
    return f"{it.role}{SEP}{it.id}\n".encode() + it.body


def _named(place: str | Root | None) -> tuple[str, str]:
    if place is None:
        return "", ""
    return ("r", "") if isinstance(place, Root) else ("m", place)


async def _ask(
    context: AsyncContext,
    request: Request,
    tree: str,
    state: str = "",
    parent: tuple[str, str] | None = None,
) -> Sequence[bytes]:
    asked = _asked(context, [(request, tree)], state, parent)
    answer: bytes = await context.link.ask(asked.name, asked.keys, *asked.args)
    if answer == b"mark":
        await context.trees.mark(request.owner, tree)
        asked = _asked(context, [(request, tree)], state, parent)
        answer = await context.link.ask(asked.name, asked.keys, *asked.args)
    return answer.split(b"\x1f")


def _appended(
    context: AsyncContext, request: Request, tree: str, answer: Sequence[bytes]
) -> Appended | None:
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


async def append_planned(context: AsyncContext, request: Request) -> Appended:
    """Append a batch as the contract says, whatever of it is known."""
    batch = request.batch
    ids = [it.id for it in batch]
    if isinstance(request.parent, str):
        ids.append(request.parent)
    look = await context.directory.look(request.owner, request.session, ids)
    seen = {id: it for id, it in zip(ids, look.places, strict=True) if it is not None}
    plan = _plan(request, look, seen)
    stored = [_stored(seen[it.id]) for it in batch[: plan.known]]
    new = batch[plan.known :]
    if not new:
        return Appended(messages=stored, written=0, tip=look.row["ti"] or ROOT)
    rest = request._replace(batch=new)
    parent = _place(request, plan, seen)
    state = f"{look.version} {look.appends}"
    answer = await _ask(context, rest, look.tree, state, parent)
    written = _appended(context, rest, look.tree, answer)
    if written is None:
        raise MovedError(look.tree)
    return Appended(
        messages=[*stored, *written.messages],
        written=len(new),
        tip=written.tip,
        context_tokens=written.context_tokens,
        stamp=written.stamp,
    )


def _plan(request: Request, look: Look, seen: dict[str, Placed]) -> AppendPlan:
    known = {
        it.id: Known(_digest(seen[it.id]), seen[it.id].parent or ROOT)
        for it in request.batch
        if it.id in seen
    }
    tip = look.row["ti"] or ROOT
    return plan_append(request.batch, known, tip, request.parent, request.expected_tip)


def _place(request: Request, plan: AppendPlan, seen: dict[str, Placed]) -> tuple[str, str]:
    """Give the place that what is new follows; the tip where it is empty."""
    if plan.parent is None:
        return "", ""
    if isinstance(plan.parent, Root):
        return "r", ""
    found = seen.get(plan.parent)
    if found is None:
        raise no_message(request.session, plan.parent)
    return "p", f"{found.segment} {found.depth}"


def _stored(place: Placed) -> Message:
    message = message_of(place.entry, str(place.segment), place.depth, place.session)
    assert message is not None, "a deleted message is refused"
    return message


def _digest(place: Placed) -> bytes | None:
    """Give the digest of a message as it was first appended; None when it was deleted."""
    head, body = split_entry(place.entry)
    if not body:
        return None
    if place.edit is not None:
        return bytes.fromhex(place.edit.split(b" ")[2].decode())
    return digest(head.role, decode_body(body, head.id))
