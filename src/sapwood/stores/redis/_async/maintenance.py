"""What writes leave to be done: changes are published to the owner, what was retired is swept.

A tree keeps its changes until they stand in its owner's feed: `pull_changes` reads them,
`publish_changes` writes them there, `acknowledge` lets the tree forget them. Which trees may have
some is known by the marks, which are made before a write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

from ....errors import StoreError
from .client import ScriptCall
from .context import AsyncRedisContext

CHANGES_AT_ONCE = 500
ENTRIES_IN_A_CHUNK = 500
CHUNKS_AT_ONCE = 4
"""How many chunks a deletion sweeps itself; the rest is for `finish_deletions`, or the next."""
LATE_US = 10_000_000
"""How much the clocks of servers may differ."""


class TreeRemains(NamedTuple):
    """What is left in a tree after its changes were published."""

    is_there: bool
    to_sweep: int
    sessions: int


class MarkedTree(NamedTuple):
    """A tree that may have been written to.

    Once its mark is over, nobody writes to it without marking it anew.
    """

    tree: str
    deadline: bytes
    is_over: bool


async def marked_trees(context: AsyncRedisContext, owner: str) -> list[MarkedTree]:
    """Return the trees of an owner that may have been written to."""
    clock, flat = await context.client.run_script("marked_trees", [context.keys.owner(owner)])
    now = int(clock)
    return [
        MarkedTree(tree.decode(), score, int(float(score)) + LATE_US < now)
        for tree, score in zip(flat[::2], flat[1::2], strict=True)
    ]


async def publish_all(context: AsyncRedisContext, owner: str) -> None:
    """Bring an owner's listing and feed up to date."""
    trees = await marked_trees(context, owner)
    remains = await publish(context, owner, [it.tree for it in trees])
    for it in trees:
        if it.is_over and remains[it.tree].is_there and not remains[it.tree].to_sweep:
            await _unmark(context, owner, it)


async def publish(
    context: AsyncRedisContext, owner: str, trees: Iterable[str]
) -> dict[str, TreeRemains]:
    """Publish the changes of trees to their owner; return what is left in each."""
    remains: dict[str, TreeRemains] = {}
    left = list(trees)
    while left:
        calls = [
            ScriptCall("pull_changes", [context.keys.tree(it)], [CHANGES_AT_ONCE]) for it in left
        ]
        answers = await context.client.run_scripts(calls)
        pulled = dict(zip(left, answers, strict=True))
        left = []
        for tree, answer in pulled.items():
            if answer[0] == b"none":
                remains[tree] = TreeRemains(is_there=False, to_sweep=0, sessions=0)
                continue
            _, version, appends, count, more, changes, active, to_sweep, sessions = answer
            args = (tree, version, appends, count, len(changes) // 2, *changes, *active)
            await context.client.run_script("publish_changes", [context.keys.owner(owner)], *args)
            await context.client.run_script("acknowledge", [context.keys.tree(tree)], count)
            remains[tree] = TreeRemains(is_there=True, to_sweep=to_sweep, sessions=sessions)
            left += [tree] if more else []
    return remains


async def clean_up_tree(context: AsyncRedisContext, owner: str, tree: str) -> None:
    """Do a part of what a deletion left; what fails is for the next to come."""
    try:
        remains = (await publish(context, owner, [tree]))[tree]
        if remains.is_there and not remains.sessions:
            await drop_tree(context, owner, tree)
        else:
            await sweep_tree(context, tree, CHUNKS_AT_ONCE)
    except StoreError:
        return


async def sweep_tree(context: AsyncRedisContext, tree: str, most: int = sys.maxsize) -> None:
    """Sweep what was retired in a tree, up to so many chunks."""
    key = context.keys.tree(tree)
    for _ in range(most):
        if not await context.client.run_script("sweep_tree", [key], ENTRIES_IN_A_CHUNK):
            return


async def drop_tree(context: AsyncRedisContext, owner: str, tree: str) -> None:
    """Remove a tree that has no session."""
    key = context.keys.tree(tree)
    for it in await marked_trees(context, owner):
        if it.tree == tree and await context.client.run_script("drop_tree", [key]):
            await _unmark(context, owner, it, is_gone=True)
            context.marks.pop(tree, None)


async def _unmark(
    context: AsyncRedisContext, owner: str, marked: MarkedTree, *, is_gone: bool = False
) -> None:
    args = (marked.tree, marked.deadline, "1" if is_gone else "")
    await context.client.run_script("unmark_tree", [context.keys.owner(owner)], *args)


async def finish_deletions_of(
    context: AsyncRedisContext, owner: str, *, by_force: bool = False
) -> None:
    """Do all that is left to be done for an owner."""
    trees = await marked_trees(context, owner)
    remains = await publish(context, owner, [it.tree for it in trees])
    for it in trees:
        left = remains[it.tree]
        if left.is_there and left.sessions:
            await sweep_tree(context, it.tree)
            if it.is_over:
                await _unmark(context, owner, it)
        elif left.is_there or it.is_over or by_force:
            # One that is not there yet is being made: it is left alone until its mark is over.
            await drop_tree(context, owner, it.tree)
