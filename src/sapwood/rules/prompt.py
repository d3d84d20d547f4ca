"""The system prompt as text, and what a frozen one depends on besides the blocks' contents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

BlockKind = Literal["readonly", "writable", "loadable", "searchable"]

FRAME = "═" * 46
BETWEEN = "\n\n"
# Goes up when the same blocks would be rendered as another text.
FINGERPRINT_FORMAT = 1

# Shorter than a frame: what only looks like one misleads as well.
_FRAME_LIKE = re.compile(r"^[^\S\n]*═{10,}[^\S\n]*$", re.M)
_encode_facts = msgspec.json.Encoder(order="deterministic").encode


class PromptBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block as it is rendered."""

    label: str
    description: str | None = None
    content: str
    tokens: int
    max_tokens: int | None = None
    kind: BlockKind


class BlockSpan(NamedTuple):
    """Where a block stands in the text: its first frame, its content, and its end."""

    start: int
    content: int
    end: int


class RenderedPrompt(NamedTuple):
    """The text, and where each block stands in it; None for one that is not shown."""

    text: str
    spans: list[BlockSpan | None]


def render(blocks: Sequence[PromptBlock]) -> RenderedPrompt:
    """Render blocks in their order; a read-only one without content is left out.

    Any other is shown empty, so that the model knows that it is there.
    """
    # Joined at the end: a text that is added to is copied whole, time and again.
    shown: list[str] = []
    spans: list[BlockSpan | None] = []
    end = 0
    for block in blocks:
        if block.kind == "readonly" and not block.content:
            spans.append(None)
            continue
        start = end + len(BETWEEN) if shown else 0
        frame = f"{FRAME}\n{heading(block)}\n{FRAME}\n"
        content = start + len(frame)
        end = content + len(block.content)
        spans.append(BlockSpan(start, content, end))
        shown.append(frame + block.content)
    return RenderedPrompt(BETWEEN.join(shown), spans)


def heading(block: PromptBlock) -> str:
    """Return the line that names a block: label, description, usage, kind."""
    words = [block.label.upper()]
    if block.description:
        words.append(f"({' '.join(block.description.split())})")
    if block.max_tokens is not None:
        share = percent(block.tokens, block.max_tokens)
        words.append(f"[{share}% — {block.tokens}/{block.max_tokens} tokens]")
    return " ".join([*words, f"[{block.kind}]"])


def percent(used: int, limit: int) -> int:
    """Return a share in whole per cent, a half rounded up."""
    return (200 * used + limit) // (2 * limit)


def usage(used: int, limit: int | None) -> str:
    """Return how full a block is."""
    if limit is None:
        return f"{used} tokens"
    return f"{percent(used, limit)}% ({used}/{limit} tokens)"


def has_frame(text: str) -> bool:
    """Whether a text has a line that could be taken for the frame of a block."""
    return _FRAME_LIKE.search(text) is not None


def first_difference(before: str, after: str) -> int | None:
    """Return the first byte, in UTF-8, at which two texts differ; None when they are the same."""
    if before == after:
        return None
    old, new = before.encode(), after.encode()
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[:middle] == new[:middle] else (low, middle - 1)
    return low


class BlockFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How one block is configured. Not what is in it, unless nobody can write it.

    `scope` and `agent` say where a stored block is read from; `fixed` is what a provider says
    about itself that only its author changes: the text of a text block, a list of allowed keys.
    """

    label: str
    description: str | None
    max_tokens: int | None
    kind: BlockKind
    writable: bool
    loadable: bool
    searchable: bool
    scope: str | None
    agent: str | None
    fixed: str | None


def fingerprint_of(facts: BlockFacts) -> str:
    """Return the same short text for the same configuration of a block, in every process."""
    return digest_of(_encode_facts(facts).decode())


def fingerprint_all(blocks: Iterable[str]) -> str:
    """Return the fingerprint of a whole configuration from those of its blocks, in their order."""
    return digest_of("\n".join([str(FINGERPRINT_FORMAT), *blocks]))


def digest_of(text: str) -> str:
    """Digest a text, to compare it later without keeping it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
