"""The ends of sessions' paths: a look into the directory, then the scripts of all trees at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ....model import Document, Position, Recent
from ....rules.recent import RECENT_MESSAGES, RECENT_PLACES, TOOL
from ..entries import message_of
from ..rows import document_of, id_or_root, is_expired, name_of
from .client import ScriptCall
from .context import AsyncRedisContext

_ASKED = (RECENT_PLACES, RECENT_MESSAGES, TOOL)


async def find_recent(
    context: AsyncRedisContext, owner: str, sessions: Sequence[str], key: str | None
) -> list[Recent | None]:
    """Find the ends of the paths to sessions' tips, in the order asked."""
    found: dict[str, Recent] = {}
    left, before = dict.fromkeys(sessions), dict[str, bytes]()
    while left:
        directory = context.keys.owner(owner, "d")
        entries = await context.client.run("HMGET", directory, *left)
        # One that is not in its tree was moved to another by a clear, or is gone.
        there = {
            it: entry
            for it, entry in zip(left, entries, strict=True)
            if entry is not None and before.get(it) != entry
        }
        answers = await _answers(context, owner, there, key)
        found |= {it: _recent(answer, key) for it, answer in answers.items()}
        before, left = there, dict.fromkeys(it for it in there if it not in answers)
    return [found.get(it) for it in sessions]


async def _answers(
    context: AsyncRedisContext, owner: str, entries: dict[str, bytes], key: str | None
) -> dict[str, Sequence[Any]]:
    """Ask the trees of sessions, each once; those that are not there are left out."""
    trees: dict[str, list[str]] = {}
    for session, entry in entries.items():
        tree = context.directory.remember(owner, session, entry)
        trees.setdefault(tree, []).append(session)
    asked = (context.directory.time(), *_ASKED, key or "")
    answers = await context.client.run_scripts(
        [
            ScriptCall("recent", [context.keys.tree(tree)], [*asked, *names])
            for tree, names in trees.items()
        ]
    )
    pairs = zip(chain.from_iterable(trees.values()), chain.from_iterable(answers), strict=True)
    return {session: answer for session, answer in pairs if answer[0] == b"ok"}


def _recent(answer: Sequence[Any], key: str | None) -> Recent:
    _, tip, segment, depth, line, is_whole, shown, empty, kept, now = answer
    messages = [message_of(entry, str(at), d, name_of(home)) for at, d, home, entry in shown]
    return Recent(
        tip=id_or_root(tip),
        messages=[replace(it, data_at=None) for it in reversed(messages) if it is not None],
        empty=empty[::-1],
        trail=[
            Position(str(at), last)
            for at, last in zip([segment, *line[::2]], [depth, *line[1::2]], strict=True)
            if at
        ],
        is_whole=bool(is_whole),
        document=_document(key, kept, int(now)),
    )


def _document(key: str | None, kept: bytes, now: int) -> Document | None:
    if key is None or not kept:
        return None
    document = document_of(key, kept)
    return None if is_expired(document, now) else document
