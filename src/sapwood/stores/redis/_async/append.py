"""Appending what is all new: one script, for one caller or for several that came together."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import Appended
from ...base.appends import Request
from .append_call import append_call, appended_of
from .context import AsyncRedisContext


async def append_new(context: AsyncRedisContext, request: Request) -> Appended | None:
    """Append a batch that is all new; None, and nothing written, when it has to be planned."""
    tree, answer = await context.directory.in_tree(
        request.owner, request.session, lambda tree: run_append(context, request, tree)
    )
    return appended_of(context, request, tree, answer)


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
                done[n] = appended_of(context, requests[n], tree, answer.split(b"\x1f"))
                unmarked += [(n, tree)] if answer == b"mark" else []
        left = unmarked
        await context.trees.mark_all([(requests[n].owner, tree) for n, tree in left])
    return done


async def _run_together(
    context: AsyncRedisContext, callers: Sequence[tuple[Request, str]]
) -> Sequence[bytes | Exception]:
    """Run the script for several callers: once where one server has all their trees."""
    if not callers:
        return []
    if context.client.is_cluster:
        return await context.client.try_scripts([append_call(context, [it]) for it in callers])
    call = append_call(context, callers)
    answer: bytes = await context.client.run_script(call.name, call.keys, *call.args)
    return answer.split(b"\n")


async def run_append(
    context: AsyncRedisContext,
    request: Request,
    tree: str,
    state: str = "",
    parent: tuple[str, str] | None = None,
) -> Sequence[bytes]:
    """Run the script for one caller; a tree that is not marked is marked first."""
    call = append_call(context, [(request, tree)], state, parent)
    answer: bytes = await context.client.run_script(call.name, call.keys, *call.args)
    if answer == b"mark":
        await context.trees.mark(request.owner, tree)
        call = append_call(context, [(request, tree)], state, parent)
        answer = await context.client.run_script(call.name, call.keys, *call.args)
    return answer.split(b"\x1f")
