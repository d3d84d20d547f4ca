"""A detached fork: the path is copied into a tree of its own, which is seen once it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model import NewSession
from ..entries import EntryHead, split_entry
from ..overlay_row import OverlayRange, range_of
from ..session_row import RedisSessionRow
from .client import RedisCommand
from .context import AsyncRedisContext
from .fork import RedisForkPoint, documents_of, inherited, put_documents
from .look import Look
from .new_session import add_session, begin_tree, deadline_of, note_creation, with_numbers
from .trees import MovedError, flat_commands

ENTRIES_AT_ONCE = 200
BYTES_AT_ONCE = 4 * 1024 * 1024
SEGMENT = 1
HOME = 1
PROGRESS = "p"
"""The part of a key that says how much of a tree is copied."""


class _PathCopy:
    """The path as it is written into its tree: one segment, in which all keep their depths."""

    def __init__(self) -> None:
        self.depth = 0
        self.live = 0
        self.raw = 0
        self.tip = ""
        self.runs: list[tuple[int, int]] = []
        self.chunks = 0

    def take(self, entry: bytes) -> tuple[EntryHead, bytes]:
        """Take the next entry; its sum is that of what is there now."""
        head, body = split_entry(entry)
        self.depth += 1
        self.raw += head.tokens
        self.tip = head.id
        if body:
            self.live += 1
            if not self.runs or sum(self.runs[-1]) != self.depth:
                self.runs.append((self.depth, 0))
            self.runs[-1] = (self.runs[-1][0], self.runs[-1][1] + 1)
        return head._replace(raw=self.raw), body


async def create_detached_fork(
    context: AsyncRedisContext,
    owner: str,
    new: NewSession,
    look: Look,
    at: RedisForkPoint | None,
    fields: dict[str, Any],
) -> RedisSessionRow:
    """Make a fork in a tree of its own."""
    tree = context.new_id()
    copy, members = _PathCopy(), list[bytes]()
    if at is not None:
        _, members, path = await inherited(context, look, at)
        for span in reversed(path):
            await _copy_span(context, owner, look, tree, span, copy)
    overlays = await _overlays(context, look, members)
    documents = await documents_of(context, look)
    again = await context.directory.look(owner, look.row.id)
    if again.version != look.version:
        await context.client.run_script("drop_tree", [context.keys.tree(tree)])
        raise MovedError
    claim, clock = await context.claim(owner, new.id, tree, new.created_us)
    fields = with_numbers(claim, {**fields, **_standing(copy, overlays)}, HOME)
    commands = [
        ("UNLINK", context.key(tree, PROGRESS)),
        begin_tree(context, tree, owner, clock),
        *add_session(context, tree, new.id, fields),
        *_segment(context, tree, copy, look.now),
        *_copied_overlays(context, tree, fields["n"], overlays, clock),
        *put_documents(context, tree, fields["n"], documents, clock),
    ]
    await context.trees.create(tree, commands, context.new_id(), deadline_of(claim))
    return await note_creation(context, owner, new.id, claim, fields)


async def _copy_span(
    context: AsyncRedisContext,
    owner: str,
    look: Look,
    tree: str,
    span: Sequence[int],
    copy: _PathCopy,
) -> None:
    segment, first, last, above = span
    key = context.key(look.tree, f"b:{segment}")
    edits = await context.client.run("HGETALL", context.key(look.tree, f"e:{segment}"))
    for start in range(first, last + 1, ENTRIES_AT_ONCE):
        await context.trees.mark(owner, tree)
        end = min(start + ENTRIES_AT_ONCE - 1, last)
        entries = await context.client.run("LRANGE", key, start - above - 1, end - above - 1)
        commands: list[RedisCommand] = []
        size = 0
        for entry in entries:
            if size > BYTES_AT_ONCE:
                await _write(context, tree, copy, commands)
                commands, size = [], 0
            size += len(entry)
            head, body = copy.take(entry)
            commands.append(("RPUSH", context.key(tree, f"b:{SEGMENT}"), head.with_body(body)))
            at = f"{SEGMENT} {copy.depth}"
            commands.append(("HSET", context.key(tree, f"i:{HOME}"), head.id, at))
            edit = edits.get(str(copy.depth).encode())
            if edit is not None:
                first_digest = edit.split(b" ")[2].decode()
                kept = f"0 0 {first_digest}"
                commands.append(("HSET", context.key(tree, f"e:{SEGMENT}"), copy.depth, kept))
        await _write(context, tree, copy, commands)


async def _write(
    context: AsyncRedisContext, tree: str, copy: _PathCopy, commands: Sequence[RedisCommand]
) -> None:
    """Write a chunk after the others, once, also when its answer is lost and it is sent again."""
    before = str(copy.chunks) if copy.chunks else ""
    args = (before, "*", context.new_id(), "", *flat_commands(commands))
    if await context.client.run_script("apply", [context.key(tree, PROGRESS)], *args) != b"ok":
        raise MovedError
    copy.chunks += 1


async def _overlays(
    context: AsyncRedisContext, look: Look, members: list[bytes]
) -> list[tuple[OverlayRange, bytes]]:
    """Return copies of overlays, oldest first."""
    numbers = sorted(member[32:] for member in members)
    if not numbers:
        return []
    ranges, stored = await context.client.run_all(
        [
            ("HMGET", context.key(look.tree, "w"), *numbers),
            ("HMGET", context.key(look.tree, "y"), *numbers),
        ]
    )
    if None in ranges or None in stored:
        raise MovedError  # one was undone meanwhile
    moved = [range_of(it)._replace(first_segment=SEGMENT, last_segment=SEGMENT) for it in ranges]
    return list(zip(moved, stored, strict=True))


def _standing(copy: _PathCopy, overlays: list[tuple[OverlayRange, bytes]]) -> dict[str, Any]:
    if not copy.depth:
        return {}
    return {
        "tip": f"{SEGMENT} {copy.depth} 0 1",
        "ti": copy.tip,
        "raw": copy.raw,
        "c": "" if overlays else copy.raw,
        "m": copy.live,
        "ov": len(overlays),
    }


def _segment(
    context: AsyncRedisContext, tree: str, copy: _PathCopy, now: int
) -> list[RedisCommand]:
    if not copy.depth:
        return []
    member = f"{0:012d}{0:010d}{SEGMENT:012d}"
    return [
        ("HSET", context.key(tree, "t"), "n", SEGMENT),
        ("HSET", context.key(tree, "g"), SEGMENT, HOME),
        ("ZADD", context.key(tree, "c"), 0, member),
        ("RPUSH", context.key(tree, f"o:{HOME}"), SEGMENT),
        *(
            ("RPUSH", context.key(tree, "f"), f"A {SEGMENT} {first} {count} {now}")
            for first, count in copy.runs
        ),
    ]


def _copied_overlays(
    context: AsyncRedisContext,
    tree: str,
    number: str,
    overlays: list[tuple[OverlayRange, bytes]],
    version: int,
) -> list[RedisCommand]:
    commands: list[RedisCommand] = []
    for n, (range, stored) in enumerate(overlays):
        # These come before all that this tree will number.
        own = str(version - len(overlays) + n)
        commands += [
            ("HSET", context.key(tree, "w"), own, str(range)),
            ("HSET", context.key(tree, "y"), own, stored),
            ("HSET", context.key(tree, "q"), range.id, own),
            ("HSET", context.key(tree, "wr"), own, 1),
            ("ZADD", context.key(tree, f"v:{number}"), 0, range.member(own)),
        ]
    return commands
