"""What writes leave to be done: the owner is told of them, and what was retired is swept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ....errors import StoreError
from .context import AsyncContext
from .link import Asked

CHANGES_AT_ONCE = 500
ENTRIES_IN_A_CHUNK = 500
CHUNKS_AT_ONCE = 4
"""How many chunks a deletion does away with itself; the rest is for `settle`, or the next."""
LATE_US = 10_000_000
"""How much the clocks of servers may differ."""


class Told(NamedTuple):
    """What is left in a tree after its owner was told of all that was done."""

    is_there: bool
    to_sweep: int
    sessions: int


class Hot(NamedTuple):
    """A tree that may have been written to; once it has cooled, nobody writes to it unmarked."""

    tree: str
    deadline: bytes
    is_cool: bool


async def hot_trees(context: AsyncContext, owner: str) -> list[Hot]:
    """Give the trees of an owner that may have been written to."""
    clock, flat = await context.link.ask("hot", [context.keys.owner(owner)])
    now = int(clock)
    return [
        Hot(tree.decode(), score, int(float(score)) + LATE_US < now)
        for tree, score in zip(flat[::2], flat[1::2], strict=True)
    ]


async def tell_all(context: AsyncContext, owner: str) -> None:
    """Bring an owner's listing and feed up to date."""
    trees = await hot_trees(context, owner)
    told = await tell(context, owner, [it.tree for it in trees])
    for it in trees:
        if it.is_cool and told[it.tree].is_there and not told[it.tree].to_sweep:
            await _rest(context, owner, it, "")


async def tell(context: AsyncContext, owner: str, trees: Iterable[str]) -> dict[str, Told]:
    """Tell an owner of trees; give what is left in them."""
    told: dict[str, Told] = {}
    left = list(trees)
    while left:
        asked = [Asked("pull", [context.keys.tree(it)], [CHANGES_AT_ONCE]) for it in left]
        answers = await context.link.ask_each(asked)
        pulled = dict(zip(left, answers, strict=True))
        left = []
        for tree, answer in pulled.items():
            if await _note(context, owner, tree, answer):
                left.append(tree)
            is_there = answer[0] != b"none"
            told[tree] = Told(is_there, *(answer[7:9] if is_there else (0, 0)))
    return told


async def _note(context: AsyncContext, owner: str, tree: str, answer: Sequence[Any]) -> bool:
    """Note what a tree said; tell whether it has more to say."""
    if answer[0] == b"none":
        return False
    _, version, appends, told, more, changes, sessions, _, _ = answer
    args = (tree, version, appends, told, len(changes) // 2, *changes, *sessions)
    await context.link.ask("note", [context.keys.owner(owner)], *args)
    await context.link.ask("told", [context.keys.tree(tree)], told)
    return bool(more)


async def tend_tree(context: AsyncContext, owner: str, tree: str) -> None:
    """Do a part of what a deletion left; what fails is for the next to come."""
    try:
        told = (await tell(context, owner, [tree]))[tree]
        if told.is_there and not told.sessions:
            await drop(context, owner, tree)
        else:
            await sweep(context, tree, CHUNKS_AT_ONCE)
    except StoreError:
        return


async def sweep(context: AsyncContext, tree: str, most: int | None = None) -> None:
    """Sweep what was retired in a tree."""
    key = context.keys.tree(tree)
    while most is None or most > 0:
        if not await context.link.ask("sweep", [key], ENTRIES_IN_A_CHUNK):
            return
        most = None if most is None else most - 1


async def drop(context: AsyncContext, owner: str, tree: str) -> None:
    """Remove a tree that has no session."""
    for it in await hot_trees(context, owner):
        if it.tree == tree and await context.link.ask("drop", [context.keys.tree(tree)]):
            await _rest(context, owner, it, "1")
            context.marks.pop(tree, None)


async def _rest(context: AsyncContext, owner: str, hot: Hot, is_gone: str) -> None:
    args = (hot.tree, hot.deadline, is_gone)
    await context.link.ask("rest", [context.keys.owner(owner)], *args)


async def settle_owner(context: AsyncContext, owner: str, *, by_force: bool = False) -> None:
    """Do all that is left to be done for an owner."""
    trees = await hot_trees(context, owner)
    told = await tell(context, owner, [it.tree for it in trees])
    for it in trees:
        left = told[it.tree]
        if left.is_there and left.sessions:
            await sweep(context, it.tree)
            if it.is_cool:
                await _rest(context, owner, it, "")
        elif left.is_there or it.is_cool or by_force:
            # One that is not there yet is being made: it is left alone until it has cooled.
            await drop(context, owner, it.tree)
