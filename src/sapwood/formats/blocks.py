"""A conversation cut into blocks, such as a model takes them: each of one role, and every tool
result right after the block with its call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..model import OtherPart, Part, ToolCallPart, ToolResultPart
from .rest import Json, rest_of
from .said import Said, callers, has_tools


class NativePart(OtherPart, frozen=True, kw_only=True, tag="other", gc=False):
    """What has no part of ours, in a message that came from the format being written."""


class Block(NamedTuple):
    """Parts of one role; `tool` has results only. `rest` is that of a message that is whole."""

    role: str
    parts: list[Part]
    rest: Json


class Manner(NamedTuple):
    """How a format wants it: does a user's message hold results, and which stay with their call."""

    name: str
    users_hold_results: bool
    stays: Callable[[Part], bool]

    def is_result(self, part: Part) -> bool:
        """Tell whether a part is a result that stands in a block after its call."""
        return isinstance(part, ToolResultPart) and not self.stays(part)


def blocks_of(messages: list[Said], manner: Manner) -> list[Block]:
    """Cut messages into blocks, and put each result where its call is."""
    blocks: list[Block] = []
    for message in messages:
        blocks += _cut(message, manner)
    ends = _last_results(blocks, manner)
    joined = _joined(blocks, ends)
    if len(joined) < len(blocks):
        ends = _last_results(joined, manner)
    return _placed(joined, ends, manner)


def _cut(message: Said, manner: Manner) -> list[Block]:
    rest = rest_of(message.metadata, manner.name)
    role, parts = message.role, message.parts
    if "other" in rest:
        parts = [_native(part) for part in parts]
    if not has_tools(parts):
        return [Block("user" if role == "tool" else role, parts, rest)]
    is_assistant = role == "assistant" or any(isinstance(part, ToolCallPart) for part in parts)
    cut = _steps(parts, manner) if is_assistant else _turns(role, parts, manner)
    return [
        Block(role, some, rest if len(some) == len(parts) else {}) for role, some in cut if some
    ]


def _native(part: Part) -> Part:
    return NativePart(value=part.value) if isinstance(part, OtherPart) else part


def _steps(parts: list[Part], manner: Manner) -> Iterator[tuple[str, list[Part]]]:
    """Cut what the assistant said after each round of results."""
    said: list[Part] = []
    results: list[Part] = []
    for part in parts:
        if manner.is_result(part):
            results.append(part)
            continue
        if results and not _goes_on(part, results):
            yield from (("assistant", said), ("tool", results))
            said, results = [], []
        said.append(part)
    yield "assistant", said
    yield "tool", results


def _goes_on(part: Part, results: list[Part]) -> bool:
    """Tell whether a part is a call beside those that were answered, with an id of its own."""
    return isinstance(part, ToolCallPart) and all(
        isinstance(it, ToolResultPart) and it.call_id != part.call_id for it in results
    )


def _turns(role: str, parts: list[Part], manner: Manner) -> Iterator[tuple[str, list[Part]]]:
    """Part the results that somebody hands in from what they say."""
    if role == "user" and manner.users_hold_results:
        yield role, parts
        return
    yield "tool", [part for part in parts if manner.is_result(part)]
    yield (
        "user" if role == "tool" else role,
        [part for part in parts if not manner.is_result(part)],
    )


def _joined(blocks: list[Block], ends: dict[int, int]) -> list[Block]:
    """Join neighbouring blocks of calls whose results come after all of them."""
    if not ends:
        return blocks
    joined: list[Block] = []
    end = -1
    for index, block in enumerate(blocks):
        if end > index and block.role == joined[-1].role == "assistant":
            joined[-1] = Block("assistant", joined[-1].parts + block.parts, {})
        else:
            joined.append(block)
            end = ends.get(index, -1)
    return joined


def _last_results(blocks: list[Block], manner: Manner) -> dict[int, int]:
    """Give for each block with calls where the last of their results stands."""
    ends: dict[int, int] = {}
    for (row, column), (call, _) in callers([block.parts for block in blocks]).items():
        if manner.is_result(blocks[row].parts[column]):
            ends[call] = row
    return ends


def _placed(blocks: list[Block], ends: dict[int, int], manner: Manner) -> list[Block]:
    """Move the results that do not follow their call to it; the others stay as they are."""
    astray = {call for call, end in ends.items() if not _follow(blocks, call, end, manner)}
    if not astray:
        return blocks
    moved: dict[int, list[Part]] = {call: [] for call in astray}
    left: list[set[int]] = [set() for _ in blocks]
    for (row, column), (call, _) in callers([block.parts for block in blocks]).items():
        part = blocks[row].parts[column]
        if call in astray and manner.is_result(part):
            moved[call].append(part)
            left[row].add(column)
    return list(_with_moved(blocks, moved, left))


def _follow(blocks: list[Block], call: int, end: int, manner: Manner) -> bool:
    """Tell whether nothing but results stands between a call and the last of its results."""
    return all(_has_result(block, manner) for block in blocks[call + 1 : end + 1])


def _has_result(block: Block, manner: Manner) -> bool:
    return block.role == "tool" or any(map(manner.is_result, block.parts))


def _with_moved(
    blocks: list[Block], moved: dict[int, list[Part]], left: list[set[int]]
) -> Iterator[Block]:
    for index, block in enumerate(blocks):
        stays = [it for column, it in enumerate(block.parts) if column not in left[index]]
        if len(stays) == len(block.parts):
            yield block
        elif stays:
            yield Block(block.role, stays, {})
        if index in moved:
            yield Block("tool", moved[index], {})
