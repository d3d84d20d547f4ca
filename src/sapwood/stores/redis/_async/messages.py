"""Work on messages, by session; appends of several that came together are one script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ....model import ROOT, Appended, Deleted, Gap, History, Leaf, Message, Position, Read, Root
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed
from ...base.append_request import Request
from ...base.refusals import delete_inherited, edit_inherited, no_message
from ..history import history_of, read_arguments
from ..rows import SEP, EntryHead, message_of, name_of, split_entry
from ..scripts import place_words
from .client import RedisCommand, ScriptCall
from .context import MARKED_US, AsyncRedisContext, AsyncRedisWork, Look, MovedError, PlacedMessage
from .list_reads import AsyncListReads

GONE = "-"
"""What is kept in place of a deleted message's digest."""


class AsyncRedisMessages(AsyncRedisWork):
    """Work on messages."""

    def __init__(self, context: AsyncRedisContext) -> None:
        super().__init__(context)
        self._list_reads = AsyncListReads(context)

    async def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended:
        """Append what is new of a batch."""
        request = Request(owner, session, batch, parent, expected_tip)
        return await append_planned(self._context, request)

    async def update(self, owner: str, session: str, message: Packed) -> Message:
        """Replace a message's content; its place, time and first digest stay."""
        context = self._context
        look = await context.directory.look(owner, session, [message.id], with_sessions=True)
        [place] = look.places
        digest = None if place is None else place.first_digest()
        if place is None or digest is None:
            raise no_message(session, message.id)
        if place.home != look.row.home:
            raise edit_inherited(message.id)
        head, _ = split_entry(place.entry)
        new = head._replace(role=message.role, tokens=message.tokens, version=head.version + 1)
        entry = new.with_body(message.body)
        commands = self._replace(look, place, head, entry, digest.hex())
        at = f"U {place.segment} {place.depth} {look.now} "
        commands.append(("RPUSH", context.key(look.tree, "f"), at))
        if new.tokens != head.tokens:
            commands += context.forget_context_sums(look)
        await context.apply(owner, look, commands, after_appends=True)
        changed = place._replace(entry=entry).message()
        assert changed is not None
        return changed

    async def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        """Erase messages; their positions and ids stay."""
        context = self._context
        look = await context.directory.look(owner, session, ids, with_sessions=True)
        places = _to_erase(look, ids)
        if not places:
            return Deleted(ids=[], quoting_overlays=[])
        commands: list[RedisCommand] = []
        for place in places.values():
            head, _ = split_entry(place.entry)
            entry = head._replace(role="", tokens=0).with_body(b"")
            commands += self._replace(look, place, head, entry, GONE)
            at = f"D {place.segment} {place.depth} {look.now} {session}"
            commands.append(("RPUSH", context.key(look.tree, "f"), at))
        own = sum(place.home == look.row.home for place in places.values())
        commands.append(("HINCRBY", context.key(look.tree, f"s:{session}"), "m", -own))
        commands += context.forget_context_sums(look)
        key = context.keys.tree(look.tree)
        numbers = [n for place in places.values() for n in (place.segment, place.depth)]
        quoting = await context.client.run_script("quoting_overlays", [key], *numbers)
        await context.apply(owner, look, commands, after_appends=True, only_frees=True)
        return Deleted(ids=list(places), quoting_overlays=[it.decode() for it in quoting])

    def _replace(
        self, look: Look, place: PlacedMessage, head: EntryHead, entry: bytes, digest: str
    ) -> list[RedisCommand]:
        """Return the commands that replace an entry, and keep what has to be known of the old."""
        tokens = int(entry.partition(b"\x1f")[0])
        delta = int(place.edit.split(b" ")[1]) if place.edit else 0
        edit = f"{look.version + 1} {delta + tokens - head.tokens} {digest}"
        index, key = place.depth - place.above - 1, self._context.key
        return [
            ("LSET", key(look.tree, f"b:{place.segment}"), index, entry),
            ("HSET", key(look.tree, f"e:{place.segment}"), place.depth, edit),
            ("HSET", key(look.tree, "t"), "e", 1),
        ]

    async def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        """Find messages that a session sees."""
        look = await self._context.directory.look(owner, session, ids)
        return [None if place is None else place.message() for place in look.places]

    async def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path as it is shown, in one round trip where it was read before."""
        directory = self._context.directory
        tree = directory.known_tree(owner, session)
        history = await self._list_reads.read(tree, session, query) if tree is not None else None
        if history is not None:
            return history
        tree, answer = await directory.run_script(
            owner, session, "read_path", *read_arguments(query)
        )
        if answer[0] == b"none":
            raise no_message(session, str(query.leaf))
        history = history_of(answer, session, query)
        self._list_reads.note(tree, session, query, answer[9])
        return history

    async def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List the live messages right after a message."""
        _, answer = await self._context.directory.run_script(
            owner, session, "children", *place_words(message)
        )
        if answer[0] == b"none":
            raise no_message(session, str(message))
        return [it for it in map(_message, answer[1]) if it is not None]

    async def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""
        _, answer = await self._context.directory.run_script(owner, session, "gaps", leaf, after)
        if answer[0] == b"none":
            raise no_message(session, leaf)
        return [
            Gap(
                id=split_entry(entry)[0].id,
                position=Position(str(segment), depth),
                home=name_of(home),
            )
            for segment, depth, home, entry in reversed(answer[1])
        ]

    async def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""
        _, (_, ends) = await self._context.directory.run_script(owner, session, "leaves")
        return [
            Leaf(
                id=split_entry(entry)[0].id,
                position=Position(str(segment), depth),
                message=_message((segment, depth, home, entry)),
            )
            for segment, depth, home, entry in ends
        ]


def _to_erase(look: Look, ids: Sequence[str]) -> dict[str, PlacedMessage]:
    places: dict[str, PlacedMessage] = {}
    for id, place in zip(ids, look.places, strict=True):
        if place is None:
            raise no_message(look.row.id, id)
        if place.entry.endswith(b"\n"):
            continue
        if place.session is not None and place.home != look.row.home:
            raise delete_inherited(id, place.session)
        places[id] = place
    return places


def _message(found: Sequence[Any]) -> Message | None:
    segment, depth, home, entry = found
    return message_of(entry, str(segment), depth, name_of(home))


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
    batch = request.batch
    ids = [it.id for it in batch]
    if isinstance(request.parent, str):
        ids.append(request.parent)
    look = await context.directory.look(request.owner, request.session, ids)
    seen = {id: it for id, it in zip(ids, look.places, strict=True) if it is not None}
    known = {
        it.id: KnownMessage(seen[it.id].first_digest(), seen[it.id].parent or ROOT)
        for it in batch
        if it.id in seen
    }
    plan = plan_append(batch, known, look.row.tip_id, request.parent, request.expected_tip)
    # A deleted message is refused by the plan.
    stored = [it for it in (seen[it.id].message() for it in batch[: plan.known]) if it is not None]
    new = batch[plan.known :]
    if not new:
        return Appended(messages=stored, written=0, tip=look.row.tip_id)
    if not isinstance(plan.parent, str):
        parent = place_words(plan.parent)
    elif (found := seen.get(plan.parent)) is not None:
        parent = "p", f"{found.segment} {found.depth}"
    else:
        raise no_message(request.session, plan.parent)
    rest = request._replace(batch=new)
    state = f"{look.version} {look.appends}"
    answer = await _run_append(context, rest, look.tree, state, parent)
    written = _appended(context, rest, look.tree, answer)
    if written is None:
        raise MovedError(look.tree)
    return replace(written, messages=[*stored, *written.messages])


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
    state: str = "",
    parent: tuple[str, str] | None = None,
) -> Sequence[bytes]:
    """Run the script for one caller; a tree that is not marked is marked first."""
    call = _call(context, [(request, tree)], state, parent)
    answer: bytes = await context.client.run_script(call.name, call.keys, *call.args)
    if answer == b"mark":
        await context.mark(request.owner, tree)
        call = _call(context, [(request, tree)], state, parent)
        answer = await context.client.run_script(call.name, call.keys, *call.args)
    return answer.split(b"\x1f")


def _call(
    context: AsyncRedisContext,
    callers: Sequence[tuple[Request, str]],
    state: str = "",
    parent: tuple[str, str] | None = None,
) -> ScriptCall:
    """Return the call of the script for requests, each with its tree.

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
        # Of each message, the part of its entry that is known here.
        args += [f"{it.role}{SEP}{it.id}\n".encode() + it.body for it in request.batch]
    return ScriptCall("append", keys, args)


def _message_words(it: Packed) -> str:
    """Return what the script has to know of a message beside what is stored."""
    created = "" if it.created_us is None else it.created_us
    return f"{'' if it.is_ours else '1'} {it.tokens} {created};"


def _appended(
    context: AsyncRedisContext, request: Request, tree: str, answer: Sequence[bytes]
) -> Appended | None:
    """Return what was appended; None, and nothing was written, when it has to be planned."""
    if answer[0] != b"ok":
        return None
    _, target, first, time, known, deadline, version, created = answer
    context.marks[tree] = deadline.decode()
    batch, segment, now = request.batch, target.decode(), int(time)
    messages = [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            extra=it.extra,
            segment=segment,
            depth=depth,
            home=request.session,
            tokens=it.tokens,
            version=1,
            created_us=now if it.created_us is None else it.created_us,
        )
        for depth, it in enumerate(batch, int(first))
    ]
    return Appended(
        messages=messages,
        written=len(batch),
        tip=batch[-1].id,
        context_tokens=int(known) if known else None,
        stamp=(int(version), int(created)),
    )
