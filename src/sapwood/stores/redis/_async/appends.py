"""Appends: at once where all is new, several that came together in one go, else after a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ....model import ROOT, Appended, Message, Position, Root
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed
from ...base.append_request import Request
from ...base.extras import NO_EXTRAS
from ...base.refusals import changed_since, no_message, refuse_stale_data
from ..entries import MARK, SEP, position_of, split_entry
from ..look import Look, PlacedMessage
from ..rows import RedisSessionRow, read_snapshot
from ..scripts import place_words
from .client import ScriptCall
from .context import MARKED_US, AsyncRedisContext, MovedError
from .data import marked
from .extras import (
    index_key,
    present_versions,
    refuse_by_extras,
    refuse_closed,
    refuse_stale_documents,
    words_along,
    written_versions,
)


class _PlannedAppend(NamedTuple):
    """What was found by a look: the state of the tree, the words for the place, the session."""

    state: str
    parent: tuple[str, str]
    row: RedisSessionRow


async def append_new(context: AsyncRedisContext, request: Request) -> Appended | None:
    """Append a batch that is all new; None, and nothing written, when it has to be planned."""
    tree, answer = await context.directory.in_tree(
        request.owner, request.session, lambda tree: _run_append(context, request, tree)
    )
    return _appended(context, request, tree, answer)


async def append_together(
    context: AsyncRedisContext, requests: Sequence[Request]
) -> list[Appended | None]:
    """Append for several callers in one go; None for those that have to try by themselves."""
    done: list[Appended | None] = [None] * len(requests)
    known = [context.directory.known_tree(it.owner, it.session) for it in requests]
    left = [(n, tree) for n, tree in enumerate(known) if tree is not None]
    for _ in range(2):
        answers = await _run_together(context, [(requests[n], tree) for n, tree in left])
        unmarked: list[tuple[int, str]] = []
        for (n, tree), answer in zip(left, answers, strict=True):
            if not isinstance(answer, Exception):
                done[n] = _appended(context, requests[n], tree, answer.split(b"\x1f"))
                unmarked += [(n, tree)] if answer == b"mark" else []
        left = unmarked
        await context.mark_all([(requests[n].owner, tree) for n, tree in left])
    return done


async def append_planned(context: AsyncRedisContext, request: Request) -> Appended:
    """Append a batch as the contract says, whatever of it is known."""
    batch, extras = request.batch, request.extras
    ids = [it.id for it in batch]
    if isinstance(request.parent, str):
        ids.append(request.parent)
    look = await context.directory.look(request.owner, request.session, ids)
    seen = {id: it for id, it in zip(ids, look.places, strict=True) if it is not None}
    known = {it.id: _known(seen[it.id]) for it in batch if it.id in seen}
    above: Sequence[str | Root] = ()
    if request.expected_tip is not None:
        above = await marked(context, look, [request.expected_tip, *(it.id for it in batch)])
    places = (request.parent, request.expected_tip)
    plan = plan_append(batch, known, look.row.tip_id, *places, request.on_known, above)
    told = {it.id: seen[it.id] for it in plan.batch[: plan.known]}
    # A deleted message is refused by the plan, and of a mark there is none.
    stored = [it for it in (place.message() for place in told.values()) if it is not None]
    rest = request._replace(batch=plan.batch[plan.known :])
    end = _end(look, plan.parent, seen)
    elsewhere = await _elsewhere(context, look, told, end)
    if not rest.batch:
        versions = await present_versions(context, look, extras)
        written = Appended(messages=[], written=0, tip=look.row.tip_id, documents=versions)
    else:
        documents = await refuse_by_extras(context, look, None, extras)
        refuse_closed(look)
        planned = _planned(look, plan.parent, seen)
        await _refuse_changed(context, look, end, request.expected_snapshot)
        refuse_stale_data(_data_at(look, plan.parent, seen), request.expected_data)
        refuse_stale_documents(look, extras, documents)
        await index_key(context, request.owner, look, extras.patch)
        written = await _append_rest(context, rest, look, planned)
    # An id that was made for this call can only be known because an earlier try of it landed.
    ours = {it.id for it in plan.batch[: plan.known] if it.is_ours}
    last = None if request.data is None else told.get(batch[-1].id)
    return replace(
        written,
        messages=[*stored, *written.messages],
        written=written.written + len(ours),
        known=[id for id in told if id not in ours],
        elsewhere=[id for id in elsewhere if id not in ours],
        data_at=written.data_at if last is None else last.position,
    )


def _known(place: PlacedMessage) -> KnownMessage:
    return KnownMessage(place.first_digest(), place.parent or ROOT, place.data())


async def _append_rest(
    context: AsyncRedisContext, request: Request, look: Look, planned: _PlannedAppend
) -> Appended:
    answer = await _run_append(context, request, look.tree, planned)
    written = _appended(context, request, look.tree, answer)
    if written is None:
        raise MovedError(look.tree)
    return written


def _end(
    look: Look, parent: str | Root | None, seen: Mapping[str, PlacedMessage]
) -> tuple[int, int]:
    """Return the place that new messages follow, segment 0 for the root or one that is not seen."""
    if parent is None:
        return look.row.tip
    found = seen.get(parent) if isinstance(parent, str) else None
    return (0, 0) if found is None else (found.segment, found.depth)


def _data_at(
    look: Look, parent: str | Root | None, seen: Mapping[str, PlacedMessage]
) -> Position | None:
    """Return where the data stands that holds where new messages go."""
    if isinstance(parent, str):
        return position_of(split_entry(seen[parent].entry)[0].data)
    return position_of(look.row.data) if parent is None else None


async def _elsewhere(
    context: AsyncRedisContext,
    look: Look,
    known: Mapping[str, PlacedMessage],
    end: tuple[int, int],
) -> list[str]:
    """Return those of stored messages that are not on the path to a place."""
    if not known:
        return []
    places = [n for it in known.values() for n in (it.segment, it.depth)]
    key = context.keys.tree(look.tree)
    are_there = await context.client.run_script("on_path", [key], *end, *places)
    return [id for id, is_there in zip(known, are_there, strict=True) if not is_there]


async def _refuse_changed(
    context: AsyncRedisContext, look: Look, end: tuple[int, int], snapshot: str | None
) -> None:
    """Refuse messages whose path was changed since a snapshot."""
    if snapshot is None:
        return
    since, key = read_snapshot(snapshot), context.keys.tree(look.tree)
    answer = await context.client.run_script("range_tokens", [key], look.version, *end, 1)
    if answer is None:
        raise MovedError(look.tree)
    if int(answer[1]) > since:
        raise changed_since()


def _planned(
    look: Look, parent: str | Root | None, seen: Mapping[str, PlacedMessage]
) -> _PlannedAppend:
    """Say where an append goes, by what was looked at."""
    if not isinstance(parent, str):
        words = place_words(parent)
    elif (found := seen.get(parent)) is not None:
        words = "p", f"{found.segment} {found.depth}"
    else:
        raise no_message(look.row.id, parent)
    return _PlannedAppend(f"{look.version} {look.appends}", words, look.row)


async def _run_together(
    context: AsyncRedisContext, callers: Sequence[tuple[Request, str]]
) -> Sequence[bytes | Exception]:
    """Run the script for several callers: once where one server has all their trees."""
    if not callers:
        return []
    if context.client.is_cluster:
        return await context.client.try_scripts([_call(context, [it]) for it in callers])
    call = _call(context, callers)
    answer: bytes = await context.client.run_script(call.name, call.keys, *call.args)
    return answer.split(b"\n")


async def _run_append(
    context: AsyncRedisContext,
    request: Request,
    tree: str,
    planned: _PlannedAppend | None = None,
) -> Sequence[bytes]:
    """Run the script for one caller; a tree that is not marked is marked first."""
    call = _call(context, [(request, tree)], planned)
    answer: bytes = await context.client.run_script(call.name, call.keys, *call.args)
    if answer == b"mark":
        await context.mark(request.owner, tree)
        call = _call(context, [(request, tree)], planned)
        answer = await context.client.run_script(call.name, call.keys, *call.args)
    return answer.split(b"\x1f")


def _call(
    context: AsyncRedisContext,
    callers: Sequence[tuple[Request, str]],
    planned: _PlannedAppend | None = None,
) -> ScriptCall:
    """Return the call of the script for requests, each with its tree; one that was planned."""
    keys = [context.keys.tree(tree) for _, tree in callers]
    marks: dict[str, str] = {}
    if not context.client.is_cluster:
        # One server holds all keys: the marks are made by the script itself.
        for owner in {request.owner: None for request, _ in callers}:
            keys.append(context.keys.owner(owner, "h"))
            marks[owner] = str(len(keys))
    ttl = "" if context.ttl_us is None else str(context.ttl_us)
    shared = (str(len(callers)), context.directory.time(), ttl, str(MARKED_US))
    state, parent, row = planned or ("", None, None)
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
            *_data_words(request),
            "".join([_message_words(it) for it in request.batch]),
        )
        args.append(SEP.join(words))
        # Of each message, the part of its entry that is known here.
        args += [f"{it.role or MARK}{SEP}{it.id}\n".encode() + it.body for it in request.batch]
        if request.data is not None:
            args.append(request.data)
        if request.extras is not NO_EXTRAS:
            args += words_along(request.extras, row)
    return ScriptCall("append", keys, args)


def _message_words(it: Packed) -> str:
    """Return what the script has to know of a message beside what is stored."""
    created = "" if it.created_us is None else it.created_us
    digest = "" if it.given_digest is None else it.given_digest.hex()
    return f"{'' if it.is_ours else '1'} {it.tokens} {created} {digest};"


def _data_words(request: Request) -> tuple[str, str]:
    """Return how the script is told that data comes, and of the data that is expected."""
    last, expected = request.batch[-1], request.expected_data
    given = "" if last.data is None else "m" if last.is_mark else "d"
    if expected is None or isinstance(expected, Root):
        return given, "" if expected is None else "r"
    # What is no position of ours is nowhere: the plan says so.
    is_ours = expected.segment.isascii() and expected.segment.isdigit()
    return given, f"{expected.segment} {expected.depth}" if is_ours else "-"


def _appended(
    context: AsyncRedisContext, request: Request, tree: str, answer: Sequence[bytes]
) -> Appended | None:
    """Return what was appended; None, and nothing was written, when it has to be planned."""
    if answer[0] != b"ok":
        return None
    _, target, first, time, known, deadline, data, version, created, *written = answer
    context.marks[tree] = deadline.decode()
    batch, segment, now = request.batch, target.decode(), int(time)
    held, own = position_of(data.decode()), None
    if request.data is not None:
        own = Position(segment, int(first) + len(batch) - 1)
    messages = [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            extra=it.extra,
            name=it.name,
            segment=segment,
            depth=depth,
            home=request.session,
            tokens=it.tokens,
            version=1,
            created_us=now if it.created_us is None else it.created_us,
            data_at=held if it.data is None else own,
        )
        for depth, it in enumerate(batch, int(first))
        if not it.is_mark
    ]
    return Appended(
        messages=messages,
        written=len(batch),
        tip=batch[-1].id,
        documents=written_versions(request.extras, int(written[0])) if written else {},
        context_tokens=int(known) if known else None,
        stamp=(int(version), int(created)),
        data_at=own,
    )
