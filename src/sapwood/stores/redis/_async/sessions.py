"""Work on sessions, and forks that are copied into a tree of their own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ....errors import NotFoundError, ReadOnlyError
from ....model import (
    Fence,
    NewSession,
    OwnedSessionPage,
    Root,
    SessionPage,
    SessionQuery,
    SessionRecord,
    Statistics,
    UpdatedSession,
)
from ....store._async.owner_sessions import sessions_of_owners
from ...base.extras import Extras
from ...base.refusals import no_message, no_session, session_exists
from ..entries import is_mark, split_entry
from ..look import Look
from ..rows import OverlayRange, RedisSessionRow, range_of
from . import deletion, listing
from .admin import AsyncRedisAdmin
from .client import RedisCommand
from .context import AsyncRedisContext, AsyncRedisWork, MovedError
from .creation import (
    RedisForkPoint,
    add_session,
    begin_tree,
    create_empty,
    create_fork,
    documents_of,
    fields_of,
    find_fork_point,
    inherited,
    make,
    note_creation,
    put_documents,
    with_numbers,
)
from .data import refuse_other_tip, versions_among
from .extras import index_key, refuse_by_extras, refuse_lost_or_closed, write_extras

ENTRIES_AT_ONCE = 200
BYTES_AT_ONCE = 4 * 1024 * 1024
COPY_SEGMENT = 1
COPY_HOME = 1
COPY_PROGRESS = "p"
"""The part of a key that says how much of a tree is copied."""


class AsyncRedisSessions(AsyncRedisWork):
    """Work on sessions."""

    async def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        if await self._row(owner, new.id) is not None:
            raise session_exists(new.id)
        if new.parent is not None and await self._row(owner, new.parent.session) is None:
            raise no_session(new.parent.session)
        if new.fork is None:
            row = await create_empty(self._context, owner, new)
        else:
            look, at = await find_fork_point(self._context, owner, new.fork)
            create = create_detached_fork if new.fork.detach else create_fork
            row = await create(self._context, owner, new, look, at)
        return await self._context.record(owner, row)

    async def _row(self, owner: str, session: str) -> RedisSessionRow | None:
        """Find a session's row; one that has expired is deleted."""
        directory, client = self._context.directory, self._context.client
        known = directory.known_tree(owner, session)
        for is_sure in (False, True):
            tree = known if not is_sure else await directory.find_tree(owner, session)
            if tree is None:
                continue
            key = self._context.key(tree, f"s:{session}")
            fields: dict[bytes, bytes] = await client.run("HGETALL", key)
            if not fields:
                continue
            row = RedisSessionRow(session, fields)
            if row["x"] and row.is_expired(now := await self._context.now()):
                with suppress(ReadOnlyError):
                    await deletion.delete_session(
                        self._context, owner, session, tree, expired_at=now
                    )
                return None
            return row
        return None

    async def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record."""
        row = await self._row(owner, session)
        if row is None:
            return None
        try:
            return await self._context.record(owner, row)
        except NotFoundError:
            return None  # it was deleted while its context was worked out

    async def update(
        self, owner: str, session: str, expected_tip: str | Root | None, extras: Extras
    ) -> UpdatedSession:
        """Change a session's record, and some of its documents."""
        context = self._context
        look = await context.directory.look(owner, session)
        stored = await refuse_by_extras(context, look, expected_tip, extras)
        await index_key(context, owner, look, extras.patch)
        writes = write_extras(context, look, extras, stored)
        is_guarded = expected_tip is not None
        await context.apply(owner, look, writes.commands, after_appends=True, at_tip=is_guarded)
        record = await context.record(owner, look.row.changed(writes.changes))
        return UpdatedSession(record=record, documents=writes.versions)

    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        expected_tip: str | Root | None,
        fences: Sequence[Fence],
    ) -> SessionRecord:
        """Move the tip."""
        context, ids = self._context, [] if isinstance(message, Root) else [message]
        look = await context.directory.look(owner, session, ids)
        await refuse_lost_or_closed(context, look, fences)
        await refuse_other_tip(context, look, expected_tip)
        changes = self._moved(look, session, ids) | {"ver": look.row.version + 1, "up": look.now}
        told = context.tell(look.tree, session, look.row.version + 1, look.now)
        is_guarded, commands = expected_tip is not None, [context.change(look, changes), told]
        await context.apply(owner, look, commands, after_appends=True, at_tip=is_guarded)
        return await context.record(owner, look.row.changed(changes))

    def _moved(self, look: Look, session: str, ids: Sequence[str]) -> dict[str, Any]:
        """Return what changes when the tip moves to a message, or without one to the root."""
        if not ids:
            return {"tip": "", "ti": "", "raw": 0, "c": 0, "da": ""}
        place = look.places[0]
        if place is None:
            raise no_message(session, ids[0])
        head, _ = split_entry(place.entry)
        is_own = int(place.home == look.row.home)
        is_sum = not (look.is_edited or look.row.overlays)
        return {
            "tip": f"{place.segment} {place.depth} {place.above} {is_own}",
            "ti": ids[0],
            "raw": head.raw,
            "c": head.raw if is_sum else "",
            "da": head.data,
        }

    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions."""
        return await listing.list_page(self._context, owner, query)

    async def list_of_all(self, query: SessionQuery) -> OwnedSessionPage:
        """List sessions of all owners, owner by owner."""
        owners = await AsyncRedisAdmin(self._context).owners()
        return await sessions_of_owners(owners, query, self.list_page)

    async def delete(self, owner: str, session: str, expected_version: int | None) -> None:
        """Delete a session; its messages are swept after that."""
        await deletion.delete_session(
            self._context, owner, session, expected_version=expected_version
        )

    async def clear(self, owner: str, session: str, mark: str | None) -> SessionRecord:
        """Retire a session's messages and go on under a new number."""
        row = await deletion.clear_session(self._context, owner, session, mark)
        return await self._context.record(owner, row)

    async def erase_owner(self, owner: str) -> None:
        """Delete all that an owner has."""
        await deletion.erase_owner(self._context, owner)

    async def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        return await listing.count(self._context, owner)


async def create_detached_fork(
    context: AsyncRedisContext,
    owner: str,
    new: NewSession,
    look: Look,
    at: RedisForkPoint | None,
) -> RedisSessionRow:
    """Make a fork in a tree of its own."""
    fields, tree = await fields_of(context, new, look), context.new_id()
    copy, members = AsyncPathCopy(context, look, tree), list[bytes]()
    if at is not None:
        _, members, path = await inherited(context, look, at)
        for span in reversed(path):
            await copy.copy_span(owner, span)
    overlays = await _overlays(context, look, members)
    documents = await documents_of(context, look)
    again = await context.directory.look(owner, look.row.id)
    if again.version != look.version:
        await context.client.run_script("drop_tree", [context.keys.tree(tree)])
        raise MovedError
    claim = await context.directory.claim(owner, new, tree)
    clock = claim.now
    fields = with_numbers(claim, fields | copy.standing(len(overlays)), COPY_HOME)
    commands = [
        ("UNLINK", context.key(tree, COPY_PROGRESS)),
        begin_tree(context, tree, owner, clock),
        *add_session(context, tree, new.id, fields, look.now),
        *copy.segment(look.now),
        # These come before all that this tree will number.
        *(
            command
            for own, overlay in enumerate(overlays, clock - len(overlays))
            for command in context.add_overlay(tree, fields["n"], str(own), *overlay)
        ),
        *put_documents(context, tree, fields["n"], documents, clock),
    ]
    await make(context, tree, claim.entry, commands)
    return await note_creation(context, owner, new.id, claim.entry, fields)


class AsyncPathCopy:
    """The path as it is written into its tree: one segment, in which all keep their depths."""

    def __init__(self, context: AsyncRedisContext, source: Look, tree: str) -> None:
        self._context = context
        self._source = source
        self._tree = tree
        self._depth = 0
        self._live = 0
        self._raw = 0
        self._tip = self._data = ""
        self._marks = 0
        self._runs: list[tuple[int, int]] = []
        self._chunks = 0

    def _key(self, part: str) -> str:
        return self._context.key(self._tree, part)

    async def copy_span(self, owner: str, span: Sequence[int]) -> None:
        """Copy the entries of one segment, in chunks."""
        segment, first, last, above = span
        context = self._context
        key = context.key(self._source.tree, f"b:{segment}")
        edits = await context.client.run("HGETALL", context.key(self._source.tree, f"e:{segment}"))
        for start in range(first, last + 1, ENTRIES_AT_ONCE):
            await context.mark(owner, self._tree)
            end = min(start + ENTRIES_AT_ONCE - 1, last)
            entries = await context.client.run("LRANGE", key, start - above - 1, end - above - 1)
            versions = await versions_among(context, self._source, segment, start, entries)
            commands: list[RedisCommand] = []
            size = 0
            for depth, entry in enumerate(entries, start):
                if size > BYTES_AT_ONCE:
                    await self._write(commands)
                    commands, size = [], 0
                version = versions.get(depth)
                size += len(entry) + len(version or b"")
                commands += self._take(entry, edits, version)
            await self._write(commands)

    def _take(
        self, entry: bytes, edits: dict[bytes, bytes], version: bytes | None
    ) -> list[RedisCommand]:
        """Return the commands that add the next entry; its sum is that of what is there now.

        With a version of the data that stands there itself, it comes along.
        """
        head, body = split_entry(entry)
        self._marks += is_mark(entry)
        self._depth += 1
        self._raw += head.tokens
        self._tip = head.id
        if body:
            self._live += 1
            if not self._runs or sum(self._runs[-1]) != self._depth:
                self._runs.append((self._depth, 0))
            self._runs[-1] = (self._runs[-1][0], self._runs[-1][1] + 1)
        commands: list[RedisCommand] = []
        if version is not None:
            moved = self._data.encode() + b"\n" + version.partition(b"\n")[2]
            commands.append(("HSET", self._key(f"d:{COPY_SEGMENT}"), self._depth, moved))
            self._data = f"{COPY_SEGMENT} {self._depth}"
        entry = head._replace(raw=self._raw, data=self._data).with_body(body)
        commands += [
            ("RPUSH", self._key(f"b:{COPY_SEGMENT}"), entry),
            ("HSET", self._key(f"i:{COPY_HOME}"), head.id, f"{COPY_SEGMENT} {self._depth}"),
        ]
        edit = edits.get(str(self._depth).encode())
        if edit is not None:
            kept = f"0 0 {edit.split(b' ')[2].decode()}"
            commands.append(("HSET", self._key(f"e:{COPY_SEGMENT}"), self._depth, kept))
        return commands

    async def _write(self, commands: Sequence[RedisCommand]) -> None:
        """Write a chunk after the others, once, though its answer is lost and it is sent again."""
        before = str(self._chunks) if self._chunks else ""
        await self._context.apply_at(self._key(COPY_PROGRESS), before, commands)
        self._chunks += 1

    def standing(self, overlays: int) -> dict[str, Any]:
        """Return the fields that say where the session stands, with so many overlays."""
        if not self._depth:
            return {}
        return {
            "tip": f"{COPY_SEGMENT} {self._depth} 0 1",
            "ti": self._tip,
            "raw": self._raw,
            "c": "" if overlays else self._raw,
            "m": self._live,
            "da": self._data,
            "ov": overlays,
        }

    def segment(self, now: int) -> list[RedisCommand]:
        """Return the commands that make the segment known, and its messages to be published."""
        if not self._depth:
            return []
        changes = [f"A {COPY_SEGMENT} {first} {count} {now}" for first, count in self._runs]
        return [
            ("HSET", self._key("t"), "n", COPY_SEGMENT),
            ("HSET", self._key("g"), COPY_SEGMENT, COPY_HOME),
            ("ZADD", self._key("c"), 0, f"{0:012d}{0:010d}{COPY_SEGMENT:012d}"),
            ("RPUSH", self._key(f"o:{COPY_HOME}"), COPY_SEGMENT),
            *([("HSET", self._key("dm"), COPY_SEGMENT, self._marks)] if self._marks else []),
            *(("RPUSH", self._key("f"), change) for change in changes),
        ]


async def _overlays(
    context: AsyncRedisContext, look: Look, members: list[bytes]
) -> list[tuple[OverlayRange, bytes]]:
    """Return copies of overlays, oldest first."""
    numbers = sorted(member[32:] for member in members)
    if not numbers:
        return []
    ranges, stored = await context.client.run_all(
        [("HMGET", context.key(look.tree, part), *numbers) for part in ("w", "y")]
    )
    if None in ranges or None in stored:
        raise MovedError  # one was undone meanwhile
    moved = [
        range_of(it)._replace(first_segment=COPY_SEGMENT, last_segment=COPY_SEGMENT)
        for it in ranges
    ]
    return list(zip(moved, stored, strict=True))
