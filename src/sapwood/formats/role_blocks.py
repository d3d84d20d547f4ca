"""A conversation cut into blocks, such as a model takes them: each of one role, and every tool
result right after the block with its call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..model import Part, ToolCallPart, ToolResultPart
from .message_like import MessageLike, callers, has_tools
from .unmapped_fields import Json, rest_of, with_natives


class RoleBlock(NamedTuple):
    """Parts of one role; `tool` has results only. `rest` is that of a message that is whole.

    `name` is its speaker's, if there is one.
    """

    role: str
    parts: list[Part]
    rest: Json
    name: str | None = None


class BlockRules(NamedTuple):
    """How a format wants it: does a user's message hold results, and which stay with their call."""

    name: str
    users_hold_results: bool
    stays: Callable[[Part], bool]

    def is_result(self, part: Part) -> bool:
        """Whether a part is a result that stands in a block after its call."""
        return isinstance(part, ToolResultPart) and not self.stays(part)


def blocks_of(messages: list[MessageLike], rules: BlockRules) -> list[RoleBlock]:
    """Cut messages into blocks, and put each result where its call is."""
    blocks: list[RoleBlock] = []
    for message in messages:
        blocks += _cut(message, rules)
    ends = _last_results(blocks, rules)
    joined = _joined(blocks, ends)
    if len(joined) < len(blocks):
        ends = _last_results(joined, rules)
    return _placed(joined, ends, rules)


def _cut(message: MessageLike, rules: BlockRules) -> list[RoleBlock]:
    rest = rest_of(message.metadata, rules.name)
    role = message.role
    parts = with_natives(message.parts) if "other" in rest else message.parts
    if not has_tools(parts):
        return [RoleBlock("user" if role == "tool" else role, parts, rest, message.name)]
    is_assistant = role == "assistant" or any(isinstance(part, ToolCallPart) for part in parts)
    cut = _steps(parts, rules) if is_assistant else _results_apart(role, parts, rules)
    name = message.name
    return [
        RoleBlock(
            role,
            some,
            rest if len(some) == len(parts) else {},
            None if role == "tool" else name,
        )
        for role, some in cut
        if some
    ]


def _steps(parts: list[Part], rules: BlockRules) -> Iterator[tuple[str, list[Part]]]:
    """Cut what the assistant said after each round of results."""
    said: list[Part] = []
    results: list[Part] = []
    for part in parts:
        if rules.is_result(part):
            results.append(part)
            continue
        if results and not _goes_on(part, results):
            yield from (("assistant", said), ("tool", results))
            said, results = [], []
        said.append(part)
    yield from (("assistant", said), ("tool", results))


def _goes_on(part: Part, results: list[Part]) -> bool:
    """Whether a part is a call beside those that were answered, with an id of its own."""
    return isinstance(part, ToolCallPart) and all(
        isinstance(it, ToolResultPart) and it.call_id != part.call_id for it in results
    )


def _results_apart(
    role: str, parts: list[Part], rules: BlockRules
) -> Iterable[tuple[str, list[Part]]]:
    """Part the results that somebody hands in from what they say."""
    if role == "user" and rules.users_hold_results:
        return [(role, parts)]
    results = [part for part in parts if rules.is_result(part)]
    said = [part for part in parts if not rules.is_result(part)]
    return [("tool", results), ("user" if role == "tool" else role, said)]


def _joined(blocks: list[RoleBlock], ends: dict[int, int]) -> list[RoleBlock]:
    """Join neighbouring blocks of calls whose results come after all of them."""
    if not ends:
        return blocks
    joined: list[RoleBlock] = []
    end = -1
    for index, block in enumerate(blocks):
        if end > index and block.role == joined[-1].role == "assistant":
            joined[-1] = RoleBlock("assistant", joined[-1].parts + block.parts, {}, joined[-1].name)
        else:
            joined.append(block)
            end = ends.get(index, -1)
    return joined


def _last_results(blocks: list[RoleBlock], rules: BlockRules) -> dict[int, int]:
    """Return for each block with calls where the last of their results stands."""
    ends: dict[int, int] = {}
    for (row, column), (call, _) in callers([block.parts for block in blocks]).items():
        if rules.is_result(blocks[row].parts[column]):
            ends[call] = row
    return ends


def _placed(blocks: list[RoleBlock], ends: dict[int, int], rules: BlockRules) -> list[RoleBlock]:
    """Move the results that do not follow their call to it; the others stay as they are."""
    astray = {call for call, end in ends.items() if not _follow(blocks, call, end, rules)}
    if not astray:
        return blocks
    moved: dict[int, list[Part]] = {call: [] for call in astray}
    left: list[set[int]] = [set() for _ in blocks]
    for (row, column), (call, _) in callers([block.parts for block in blocks]).items():
        part = blocks[row].parts[column]
        if call in astray and rules.is_result(part):
            moved[call].append(part)
            left[row].add(column)
    return list(_with_moved(blocks, moved, left))


def _follow(blocks: list[RoleBlock], call: int, end: int, rules: BlockRules) -> bool:
    """Whether nothing but results stands between a call and the last of its results."""
    return all(
        block.role == "tool" or any(map(rules.is_result, block.parts))
        for block in blocks[call + 1 : end + 1]
    )


def _with_moved(
    blocks: list[RoleBlock], moved: dict[int, list[Part]], left: list[set[int]]
) -> Iterator[RoleBlock]:
    for index, block in enumerate(blocks):
        stays = [it for column, it in enumerate(block.parts) if column not in left[index]]
        if len(stays) == len(block.parts):
            yield block
        elif stays:
            yield RoleBlock(block.role, stays, {}, block.name)
        if index in moved:
            yield RoleBlock("tool", moved[index], {})
