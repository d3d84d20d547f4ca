"""Work on things that are written anew as they lie: applied unless something has changed since."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import (
    DataVersion,
    Document,
    Message,
    Overlay,
    Position,
    SessionPatch,
    SessionRecord,
)
from ....rules.codec import Packed, decode_json
from ....rules.rewriting import Replacement, is_still
from ...base.refusals import no_position
from ..entries import split_entry
from ..look import Look
from ..rows import name_of, overlay_of, rewritten_overlay
from .client import RedisCommand
from .context import AsyncRedisContext, AsyncRedisWork
from .data import versions_of
from .documents import AsyncRedisDocuments
from .extras import patched_fields


class AsyncRedisRewriting(AsyncRedisWork):
    """Work on things that are written anew."""

    def __init__(self, context: AsyncRedisContext) -> None:
        super().__init__(context)
        self._documents = AsyncRedisDocuments(context)

    async def replace(
        self, owner: str, session: str | None, changes: Sequence[Replacement]
    ) -> list[int]:
        """Replace what is still as it was given, all at once."""
        documents = [
            (it.given, it.stored)
            for it in changes
            if isinstance(it.given, Document) and isinstance(it.stored, bytes)
        ]
        if documents:
            return await self._documents.rewrite(owner, session, documents)
        assert session is not None
        ids = [it.given.id for it in changes if isinstance(it.given, Message)]
        look = await self._context.directory.look(owner, session, ids)
        lost: list[int] = []
        commands: list[RedisCommand] = []
        for at, change in enumerate(changes):
            some = await self._commands(look, at, change)
            commands += some
            lost += [] if some else [at]
        if commands:
            await self._context.apply(owner, look, commands, after_appends=True)
        return lost

    async def _commands(self, look: Look, at: int, change: Replacement) -> list[RedisCommand]:
        """Return the commands that replace a thing; none when it is not as it was given."""
        match change:
            case Replacement(Message() as given, _, Packed() as new):
                return self._message(look, at, given, new)
            case Replacement(Overlay() as given, Overlay(summary=summary), bytes() as metadata):
                return await self._overlay(look, given, summary, metadata)
            case Replacement(DataVersion() as given, _, bytes() as value):
                return await self._data(look, given, value)
            case Replacement(SessionRecord() as given, SessionRecord() as made):
                if not is_still(look.row.record(0), given):
                    return []
                patch = SessionPatch(title=made.title, attributes=made.attributes)
                return [self._context.change(look, patched_fields(look.row, patch))]
        return []

    def _message(self, look: Look, at: int, given: Message, new: Packed) -> list[RedisCommand]:
        place, key = look.places[at], self._context.key
        stored = None if place is None else place.message()
        if place is None or stored is None:
            return []
        if stored.position != given.position or not is_still(stored, given):
            return []
        head, _ = split_entry(place.entry)
        index, segment = place.depth - place.above - 1, place.segment
        commands: list[RedisCommand] = [
            ("LSET", key(look.tree, f"b:{segment}"), index, head.with_body(new.body))
        ]
        digest = place.first_digest()
        if place.edit is None and digest is not None:
            kept = f"0 0 {digest.hex()}"
            commands.append(("HSET", key(look.tree, f"e:{segment}"), place.depth, kept))
        return commands

    async def _overlay(
        self, look: Look, given: Overlay, summary: str, metadata: bytes
    ) -> list[RedisCommand]:
        client, key = self._context.client, self._context.key
        number = await client.run("HGET", key(look.tree, "q"), given.id)
        if number is None:
            return []
        range, stored = await client.run_all(
            [("HGET", key(look.tree, part), number) for part in ("w", "y")]
        )
        if range is None or stored is None or not is_still(overlay_of(range, stored), given):
            return []
        anew = rewritten_overlay(stored, summary, metadata)
        return [("HSET", key(look.tree, "y"), number, anew)]

    async def _data(self, look: Look, given: DataVersion, value: bytes) -> list[RedisCommand]:
        key, depth = (
            self._context.key(look.tree, f"d:{given.position.segment}"),
            given.position.depth,
        )
        stored = await self._context.client.run("HGET", key, depth)
        previous, _, held = (stored or b"").partition(b"\n")
        if stored is None or decode_json(held, "data") != given.value:
            return []
        return [("HSET", key, depth, previous + b"\n" + value)]

    async def list_data(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> list[DataVersion]:
        """List the versions of what a session wrote, or sees of homes that are gone."""
        found: list[DataVersion] = []
        while len(found) < limit:
            place = ("", 0) if after is None else (after.segment, after.depth)
            tree, answer = await self._context.directory.run_script(
                owner, session, "list_messages", *place, limit
            )
            if answer[0] == b"none":
                assert after is not None
                raise no_position(session, after)
            if not answer[1]:
                break
            for segment, first, home, entries in answer[1]:
                after = Position(str(segment), first + len(entries) - 1)
                if home is None or name_of(home) == session:
                    found += await versions_of(self._context, tree, segment, first, entries)
        return found[:limit]
