"""What a frozen prompt depends on besides the blocks' contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from .prompt import BlockKind

# Goes up when the same blocks would be rendered as another text.
FORMAT = 1

_encode = msgspec.json.Encoder(order="deterministic").encode


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
    return digest_of(_encode(facts).decode())


def fingerprint_all(blocks: Iterable[str]) -> str:
    """Return the fingerprint of a whole configuration from those of its blocks, in their order."""
    return digest_of("\n".join([str(FORMAT), *blocks]))


def digest_of(text: str) -> str:
    """Digest a text, to compare it later without keeping it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
