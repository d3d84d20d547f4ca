"""Tool calls and their results belong together: whatever cuts a path takes both or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..model import Entry, Message, Part, Summary, ToolCallPart, ToolResultPart


class Pair(NamedTuple):
    """A message and those that calls and results tie to it, in path order.

    `whole` says that no call among them lacks its result, and no result its call.
    """

    ids: list[str]
    whole: bool


def drop_parted(entries: list[Entry]) -> list[Entry]:
    """Leave out the results whose call is not among the entries before them.

    For a window that a limit cut off at its start. A message left with no parts is left out.
    When nothing is parted, the entries themselves are given back.
    """
    if not _is_any_parted(entries):
        return entries
    called: set[str] = set()
    kept: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Summary):
            called.update(id for message in entry.pinned for id in _calls_of(message))
            kept.append(entry)
            continue
        parts = [part for part in entry.parts if _follows_its_call(part, called)]
        if len(parts) == len(entry.parts):
            kept.append(entry)
        elif parts:
            kept.append(msgspec.structs.replace(entry, parts=parts))
    return kept


def _is_any_parted(entries: Sequence[Entry]) -> bool:
    called: set[str] = set()
    for entry in entries:
        if isinstance(entry, Summary):
            called.update(id for message in entry.pinned for id in _calls_of(message))
            continue
        for part in entry.parts:
            if isinstance(part, ToolCallPart):
                called.add(part.call_id)
            elif isinstance(part, ToolResultPart) and part.call_id not in called:
                return True
    return False


def drop_unanswered_end(entries: list[Entry]) -> list[Entry]:
    """Leave out a call at the end that some results are missing for, and the results it has.

    For a window that a limit cut off at its end. When there is none, the entries themselves are
    given back.
    """
    answered: set[str] = set()
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if isinstance(entry, Summary):
            break
        results = [part.call_id for part in entry.parts if isinstance(part, ToolResultPart)]
        answered.update(results)
        calls = _calls_of(entry)
        if calls:
            return entries if answered.issuperset(calls) else entries[:index]
        if not results:
            break
    return entries


def _calls_of(message: Message) -> list[str]:
    return [part.call_id for part in message.parts if isinstance(part, ToolCallPart)]


def _follows_its_call(part: Part, called: set[str]) -> bool:
    if isinstance(part, ToolCallPart):
        called.add(part.call_id)
    return not isinstance(part, ToolResultPart) or part.call_id in called


def pair_of(messages: Sequence[Message], id: str) -> Pair:
    """Find what belongs with a message, among messages that follow one another on a path.

    A result belongs to the nearest call before it: some models use the same call ids every turn.
    """
    ties, lonely = _tie(messages)
    todo = [index for index, message in enumerate(messages) if message.id == id]
    together = set(todo)
    while todo:
        found = ties.get(todo.pop(), set()) - together
        together |= found
        todo.extend(found)
    ids = [messages[index].id for index in sorted(together)]
    return Pair(ids, not together & lonely)


def _tie(messages: Sequence[Message]) -> tuple[dict[int, set[int]], set[int]]:
    ties: dict[int, set[int]] = {}
    caller: dict[str, int] = {}
    unanswered: set[tuple[int, str]] = set()
    orphans: set[int] = set()
    for index, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                caller[part.call_id] = index
                unanswered.add((index, part.call_id))
            elif isinstance(part, ToolResultPart):
                call = caller.get(part.call_id)
                if call is None:
                    orphans.add(index)
                    continue
                ties.setdefault(call, set()).add(index)
                ties.setdefault(index, set()).add(call)
                unanswered.discard((call, part.call_id))
    return ties, orphans | {index for index, _ in unanswered}
