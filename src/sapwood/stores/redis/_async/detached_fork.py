"""A detached fork: the path is copied into a tree of its own, which is seen once it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import NewSession
from ..entries import split_entry
from ..rows import OverlayRange, RedisSessionRow, range_of
from .client import RedisCommand
from .context import AsyncRedisContext, MovedError
from .creation import (
    RedisForkPoint,
    add_session,
    begin_tree,
    documents_of,
    fields_of,
    inherited,
    make,
    note_creation,
    put_documents,
    with_numbers,
)
from .look import Look

ENTRIES_AT_ONCE = 200
BYTES_AT_ONCE = 4 * 1024 * 1024
SEGMENT = 1
HOME = 1
PROGRESS = "p"
"""The part of a key that says how much of a tree is copied."""


async def create_detached_fork(
    context: AsyncRedisContext,
    owner: str,
    new: NewSession,
    look: Look,
    at: RedisForkPoint | None,
) -> RedisSessionRow:
    """Make a fork in a tree of its own."""
    fields, tree = await fields_of(context, new, look), context.new_id()
    copy, members = AsyncPathCopy(context, look.tree, tree), list[bytes]()
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
    claim, clock = await context.directory.claim(owner, new.id, tree, new.created_us)
    fields = with_numbers(claim, fields | copy.standing(len(overlays)), HOME)
    commands = [
        ("UNLINK", context.key(tree, PROGRESS)),
        begin_tree(context, tree, owner, clock),
        *add_session(context, tree, new.id, fields),
        *copy.segment(look.now),
        # These come before all that this tree will number.
        *(
            command
            for own, overlay in enumerate(overlays, clock - len(overlays))
            for command in context.add_overlay(tree, fields["n"], str(own), *overlay)
        ),
        *put_documents(context, tree, fields["n"], documents, clock),
    ]
    await make(context, tree, claim, commands)
    return await note_creation(context, owner, new.id, claim, fields)


class AsyncPathCopy:
    """The path as it is written into its tree: one segment, in which all keep their depths."""

    def __init__(self, context: AsyncRedisContext, source: str, tree: str) -> None:
        self._context = context
        self._source = source
        self._tree = tree
        self._depth = 0
        self._live = 0
        self._raw = 0
        self._tip = ""
        self._runs: list[tuple[int, int]] = []
        self._chunks = 0

    def _key(self, part: str) -> str:
        return self._context.key(self._tree, part)

    async def copy_span(self, owner: str, span: Sequence[int]) -> None:
        """Copy the entries of one segment, in chunks."""
        segment, first, last, above = span
        context = self._context
        key = context.key(self._source, f"b:{segment}")
        edits = await context.client.run("HGETALL", context.key(self._source, f"e:{segment}"))
        for start in range(first, last + 1, ENTRIES_AT_ONCE):
            await context.mark(owner, self._tree)
            end = min(start + ENTRIES_AT_ONCE - 1, last)
            entries = await context.client.run("LRANGE", key, start - above - 1, end - above - 1)
            commands: list[RedisCommand] = []
            size = 0
            for entry in entries:
                if size > BYTES_AT_ONCE:
                    await self._write(commands)
                    commands, size = [], 0
                size += len(entry)
                commands += self._take(entry, edits)
            await self._write(commands)

    def _take(self, entry: bytes, edits: dict[bytes, bytes]) -> list[RedisCommand]:
        """Return the commands that add the next entry; its sum is that of what is there now."""
        head, body = split_entry(entry)
        self._depth += 1
        self._raw += head.tokens
        self._tip = head.id
        if body:
            self._live += 1
            if not self._runs or sum(self._runs[-1]) != self._depth:
                self._runs.append((self._depth, 0))
            self._runs[-1] = (self._runs[-1][0], self._runs[-1][1] + 1)
        commands: list[RedisCommand] = [
            ("RPUSH", self._key(f"b:{SEGMENT}"), head._replace(raw=self._raw).with_body(body)),
            ("HSET", self._key(f"i:{HOME}"), head.id, f"{SEGMENT} {self._depth}"),
        ]
        edit = edits.get(str(self._depth).encode())
        if edit is not None:
            kept = f"0 0 {edit.split(b' ')[2].decode()}"
            commands.append(("HSET", self._key(f"e:{SEGMENT}"), self._depth, kept))
        return commands

    async def _write(self, commands: Sequence[RedisCommand]) -> None:
        """Write a chunk after the others, once, though its answer is lost and it is sent again."""
        before = str(self._chunks) if self._chunks else ""
        await self._context.apply_at(self._key(PROGRESS), before, commands)
        self._chunks += 1

    def standing(self, overlays: int) -> dict[str, Any]:
        """Return the fields that say where the session stands, with so many overlays."""
        if not self._depth:
            return {}
        return {
            "tip": f"{SEGMENT} {self._depth} 0 1",
            "ti": self._tip,
            "raw": self._raw,
            "c": "" if overlays else self._raw,
            "m": self._live,
            "ov": overlays,
        }

    def segment(self, now: int) -> list[RedisCommand]:
        """Return the commands that make the segment known, and its messages to be published."""
        if not self._depth:
            return []
        changes = [f"A {SEGMENT} {first} {count} {now}" for first, count in self._runs]
        return [
            ("HSET", self._key("t"), "n", SEGMENT),
            ("HSET", self._key("g"), SEGMENT, HOME),
            ("ZADD", self._key("c"), 0, f"{0:012d}{0:010d}{SEGMENT:012d}"),
            ("RPUSH", self._key(f"o:{HOME}"), SEGMENT),
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
    moved = [range_of(it)._replace(first_segment=SEGMENT, last_segment=SEGMENT) for it in ranges]
    return list(zip(moved, stored, strict=True))
