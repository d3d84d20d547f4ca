"""A conversation cut into blocks, such as a model takes them: each of one role, and every tool
result right after the block with its call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..model import Part, ToolCallPart, ToolResultPart
from .rest import Json, rest_of
from .said import Said, callers


class Piece(NamedTuple):
    """A part; `native` says that the message it stands in came from the format being written."""

    part: Part
    native: bool


class Block(NamedTuple):
    """Pieces of one role; `tool` has results only. `rest` is that of a message that is whole."""

    role: str
    pieces: list[Piece]
    rest: Json

    @property
    def parts(self) -> list[Part]:
        """The parts alone."""
        return [piece.part for piece in self.pieces]


class Manner(NamedTuple):
    """How a format wants it: does a user's message hold results, and which stay with their call."""

    name: str
    users_hold_results: bool
    stays: Callable[[Part], bool]

    def is_result(self, part: Part) -> bool:
        """Tell whether a part is a result that stands in a block after its call."""
        return isinstance(part, ToolResultPart) and not self.stays(part)


def blocks_of(messages: Iterable[Said], manner: Manner) -> list[Block]:
    """Cut messages into blocks, and put each result where its call is."""
    blocks = [block for message in messages for block in _cut(message, manner)]
    return _placed(_joined(blocks, manner), manner)


def _cut(message: Said, manner: Manner) -> Iterator[Block]:
    rest = rest_of(message.metadata, manner.name)
    pieces = [Piece(part, "other" in rest) for part in message.parts]
    is_assistant = message.role == "assistant" or any(
        isinstance(part, ToolCallPart) for part in message.parts
    )
    cut = _steps(pieces, manner) if is_assistant else _turns(message.role, pieces, manner)
    blocks = [Block(role, some, {}) for role, some in cut if some or not pieces]
    for block in blocks:
        is_whole = len(block.pieces) == len(pieces)
        yield block._replace(rest=rest) if is_whole else block


def _steps(pieces: list[Piece], manner: Manner) -> Iterator[tuple[str, list[Piece]]]:
    """Cut what the assistant said after each round of results."""
    said: list[Piece] = []
    results: list[Piece] = []
    for piece in pieces:
        if manner.is_result(piece.part):
            results.append(piece)
            continue
        if results and not _goes_on(piece.part, results):
            yield from (("assistant", said), ("tool", results))
            said, results = [], []
        said.append(piece)
    yield "assistant", said
    if results:
        yield "tool", results


def _goes_on(part: Part, results: list[Piece]) -> bool:
    """Tell whether a part is a call beside those that were answered, with an id of its own."""
    return isinstance(part, ToolCallPart) and all(
        isinstance(it.part, ToolResultPart) and it.part.call_id != part.call_id for it in results
    )


def _turns(role: str, pieces: list[Piece], manner: Manner) -> Iterator[tuple[str, list[Piece]]]:
    """Part the results that somebody hands in from what they say."""
    if role == "user" and manner.users_hold_results:
        yield role, pieces
        return
    results = [piece for piece in pieces if manner.is_result(piece.part)]
    others = [piece for piece in pieces if not manner.is_result(piece.part)]
    if results:
        yield "tool", results
    if others or not results:
        yield "user" if role == "tool" else role, others


def _joined(blocks: list[Block], manner: Manner) -> list[Block]:
    """Join neighbouring blocks of calls whose results come after all of them."""
    ends = _last_results(blocks, manner)
    joined: list[Block] = []
    end = -1
    for index, block in enumerate(blocks):
        if joined and block.role == joined[-1].role == "assistant" and end > index:
            joined[-1] = Block("assistant", joined[-1].pieces + block.pieces, {})
        else:
            joined.append(block)
            end = ends.get(index, -1)
    return joined


def _last_results(blocks: list[Block], manner: Manner) -> dict[int, int]:
    """Give for each block with calls where the last of their results stands."""
    ends: dict[int, int] = {}
    for (row, column), (call, _) in callers([block.parts for block in blocks]).items():
        if manner.is_result(blocks[row].pieces[column].part):
            ends[call] = row
    return ends


def _placed(blocks: list[Block], manner: Manner) -> list[Block]:
    """Move the results that do not follow their call to it; the others stay as they are."""
    ends = _last_results(blocks, manner)
    astray = {call for call, end in ends.items() if not _follow(blocks, call, end, manner)}
    if not astray:
        return blocks
    moved: dict[int, list[Piece]] = {call: [] for call in astray}
    left: list[set[int]] = [set() for _ in blocks]
    for (row, column), (call, _) in callers([block.parts for block in blocks]).items():
        piece = blocks[row].pieces[column]
        if call in astray and manner.is_result(piece.part):
            moved[call].append(piece)
            left[row].add(column)
    return list(_with_moved(blocks, moved, left))


def _follow(blocks: list[Block], call: int, end: int, manner: Manner) -> bool:
    """Tell whether nothing but results stands between a call and the last of its results."""
    return all(
        any(manner.is_result(part) for part in blocks[index].parts)
        for index in range(call + 1, end + 1)
    )


def _with_moved(
    blocks: list[Block], moved: dict[int, list[Piece]], left: list[set[int]]
) -> Iterator[Block]:
    for index, block in enumerate(blocks):
        stays = [it for column, it in enumerate(block.pieces) if column not in left[index]]
        if len(stays) == len(block.pieces):
            yield block
        elif stays:
            yield Block(block.role, stays, {})
        if index in moved:
            yield Block("tool", moved[index], {})
