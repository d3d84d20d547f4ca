"""Work on messages, by session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import (
    ROOT,
    Appended,
    Deleted,
    Entry,
    Fence,
    Gap,
    History,
    Leaf,
    Message,
    MessagePage,
    Position,
    Read,
    Recent,
    Root,
    UpdatedMessage,
)
from ....rules.codec import Packed, decode_body, keeping_extra
from ...base.append_request import Request
from ...base.extras import Extras
from ...base.refusals import delete_inherited, edit_inherited, no_message, no_position
from ..entries import EntryHead, is_mark, message_of, split_entry, take_messages
from ..history import history_of, read_arguments
from ..look import Look, PlacedMessage
from ..rows import name_of
from ..scripts import place_words
from .appends import append_planned
from .client import RedisCommand, ScriptCall
from .context import AsyncRedisContext, AsyncRedisWork
from .extras import index_key, refuse_by_extras, refuse_closed, refuse_lost, write_extras
from .list_reads import AsyncListReads
from .recent import find_recent

_DEEPEST = 9_999_999_999
GONE = "-"
"""What is kept in place of a deleted message's digest."""


class AsyncRedisMessages(AsyncRedisWork):
    """Work on messages."""

    def __init__(self, context: AsyncRedisContext) -> None:
        super().__init__(context)
        self._list_reads = AsyncListReads(context)

    async def append(self, request: Request) -> Appended:
        """Append what is new of a batch."""
        return await append_planned(self._context, request)

    async def update(
        self,
        owner: str,
        session: str,
        message: Packed,
        expected_tip: str | Root | None,
        extras: Extras,
    ) -> UpdatedMessage:
        """Replace a message's content; its place, time and first digest stay."""
        context = self._context
        look = await context.directory.look(owner, session, [message.id], with_sessions=True)
        documents = await refuse_by_extras(context, look, expected_tip, extras)
        refuse_closed(look)
        place, digest = _to_edit(look, message.id)
        head, body = split_entry(place.entry)
        kept = keeping_extra(message, decode_body(body, message.id).extra)
        new = head._replace(role=kept.role, tokens=kept.tokens, version=head.version + 1)
        entry = new.with_body(kept.body)
        commands = self._replace(look, place, head, entry, digest.hex())
        at = f"U {place.segment} {place.depth} {look.now} "
        commands.append(("RPUSH", context.key(look.tree, "f"), at))
        commands.append(context.change(look, {"up": look.now}))
        if new.tokens != head.tokens:
            commands += context.forget_context_sums(look)
        await index_key(context, owner, look, extras.patch)
        writes = write_extras(context, look, extras, documents)
        commands += writes.commands
        is_guarded = expected_tip is not None
        await context.apply(owner, look, commands, after_appends=True, at_tip=is_guarded)
        changed = place._replace(entry=entry).message()
        assert changed is not None
        return UpdatedMessage(message=changed, documents=writes.versions)

    async def delete(
        self, owner: str, session: str, ids: Sequence[str], fences: Sequence[Fence]
    ) -> Deleted:
        """Erase messages; their positions and ids stay."""
        context = self._context
        look = await context.directory.look(owner, session, ids, with_sessions=True)
        await refuse_lost(context, look, fences)
        places = _to_erase(look, ids)
        if not places:
            return Deleted(ids=[], quoting_overlays=[])
        commands: list[RedisCommand] = []
        for place in places.values():
            head, _ = split_entry(place.entry)
            erased = head._replace(role="", tokens=0, version=head.version + 1)
            entry = erased.with_body(b"")
            commands += self._replace(look, place, head, entry, GONE)
            at = f"D {place.segment} {place.depth} {look.now} {session}"
            commands.append(("RPUSH", context.key(look.tree, "f"), at))
        own = sum(place.home == look.row.home for place in places.values())
        commands.append(("HINCRBY", context.key(look.tree, f"s:{session}"), "m", -own))
        commands.append(context.change(look, {"up": look.now}))
        commands += context.forget_context_sums(look)
        key = context.keys.tree(look.tree)
        numbers = [n for place in places.values() for n in (place.segment, place.depth)]
        quoting = await context.client.run_script("quoting_overlays", [key], *numbers)
        await context.apply(owner, look, commands, after_appends=True, only_frees=True)
        return Deleted(
            ids=list(places),
            quoting_overlays=[it.decode() for it in quoting],
            data=[it.position for it in places.values() if it.version is not None],
        )

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

    async def parents(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[str | Root | None]:
        """Find what messages follow."""
        look = await self._context.directory.look(owner, session, ids)
        return [None if it is None else it.parent or ROOT for it in look.places]

    async def recent(
        self, owner: str, sessions: Sequence[str], key: str | None
    ) -> list[Recent | None]:
        """Find the ends of paths, those of all sessions at once."""
        return await find_recent(self._context, owner, sessions, key)

    async def homes(self, owner: str, message: str) -> list[str]:
        """Find the sessions that wrote a message, with a look into each tree."""
        context = self._context
        found = await context.client.run("HGETALL", context.keys.owner(owner, "d"))
        sessions: dict[str, list[str]] = {}
        for name, entry in found.items():
            session = name.decode()
            tree = context.directory.remember(owner, session, entry)
            sessions.setdefault(tree, []).append(session)
        time = context.directory.time()
        answers = await context.client.run_scripts(
            [
                ScriptCall("homes_with", [context.keys.tree(tree)], [time, message, *names])
                for tree, names in sessions.items()
            ]
        )
        return sorted(name.decode() for answer in answers for name in answer)

    async def list_page(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> MessagePage:
        """List what a session sees."""
        place = ("", 0) if after is None else (after.segment, min(after.depth, _DEEPEST))
        _, answer = await self._context.directory.run_script(
            owner, session, "list_messages", *place, limit + 1
        )
        if answer[0] == b"none":
            assert after is not None
            raise no_position(session, after)
        found: list[Entry] = []
        for segment, first, home, stored in answer[1]:
            take_messages(stored, str(segment), first, name_of(home), found)
        messages = [it for it in found if isinstance(it, Message)]
        return MessagePage(messages=messages[:limit], more=len(messages) > limit)

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


def _to_edit(look: Look, id: str) -> tuple[PlacedMessage, bytes]:
    """Return where a live message of the session's own stands, and its first digest."""
    [place] = look.places
    digest = None if place is None else place.first_digest()
    if place is None or digest is None or is_mark(place.entry):
        raise no_message(look.row.id, id)
    if place.home != look.row.home:
        raise edit_inherited(id)
    return place, digest


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
