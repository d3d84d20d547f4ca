"""How a block is configured, and whether that makes sense."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Literal, get_args

import msgspec

from ..errors import BlockLimitError, UsageError
from ..rules import check
from ..rules.prompt import BlockKind
from ..rules.tokens import MAX_TOKENS
from .document_keys import check_scope
from .provider import (
    ReadProvider,
    TextProvider,
    check_provider,
    is_loadable,
    is_searchable,
    is_writable,
    strongest_kind,
)

logger = logging.getLogger(__name__)

BlockScope = Literal["session", "agent", "owner"]


class BlockConfig(msgspec.Struct, frozen=True):
    """A block of the prompt: what it is called, how much it may hold, where its text comes from.

    Without a provider its text is stored: for this session, for an agent of the owner (give its
    name), or for all that the owner has. `default` is its text while there is no other. `readonly`
    means that it is not written through this context; with a default and the scope of a session
    it is that text, and nothing is stored. `max_tokens` limits what is written, and for a provider
    with entries each of these.
    """

    label: str
    description: str | None = None
    max_tokens: int | None = None
    provider: ReadProvider | None = None
    default: str | None = None
    readonly: bool = False
    scope: BlockScope = "session"
    agent: str | None = None


class BlockShape(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done with a block."""

    kind: BlockKind
    writable: bool
    loadable: bool
    searchable: bool
    keyed: bool


def check_config(config: BlockConfig, count: Callable[[str], int]) -> None:
    """Refuse a configuration that cannot be meant, and a default that is over the limit."""
    check.instance(config, BlockConfig, "block")
    check.name(config.label, "label")
    try:
        _check_fields(config)
    except UsageError as error:
        raise UsageError(f"block {config.label!r:.60}: {error}", path=error.path) from None
    if config.default is not None:
        check_limit(config, config.default, count)


def _check_fields(config: BlockConfig) -> None:
    if config.scope not in get_args(BlockScope):
        raise UsageError(
            f"scope must be 'session', 'agent' or 'owner', not {config.scope!r}", path="scope"
        )
    for field in ("description", "default"):
        value = getattr(config, field)
        if value is not None:
            check.text(value, field)
    check.instance(config.readonly, bool, "readonly")
    check.whole(config.max_tokens, "max_tokens", 1, MAX_TOKENS)
    if config.provider is not None:
        check_provider(config.provider, "provider")
    check_scope(config.scope, config.agent, config.label)


def check_labels(labels: Iterable[str]) -> None:
    """Refuse labels that come twice; the prompt shows them in capitals."""
    seen: dict[str, str] = {}
    for label in labels:
        other = seen.get(label.upper())
        if other is not None:
            how = "twice" if other == label else f"beside {other!r}, in the same capitals"
            raise UsageError(f"the label {label!r} comes {how}: choose another", path="label")
        seen[label.upper()] = label


def check_limit(config: BlockConfig, content: str, count: Callable[[str], int]) -> None:
    """Refuse content that is over the block's limit."""
    limit = config.max_tokens
    if limit is not None and (tokens := count(content)) > limit:
        raise BlockLimitError(
            f"block {config.label!r} would have {tokens} tokens and its limit is {limit}: "
            "shorten it, or replace what is no longer needed",
            path="content",
        )


def provider_of(config: BlockConfig) -> ReadProvider | None:
    """Return a block's provider; None means that it is stored."""
    if config.provider is None and config.readonly and config.scope == "session":
        return None if config.default is None else TextProvider(config.default)
    return config.provider


def shape_of(config: BlockConfig, provider: ReadProvider) -> BlockShape:
    """Return what can be done with a block that has this provider."""
    writable = is_writable(provider) and not config.readonly
    loadable, searchable = is_loadable(provider), is_searchable(provider)
    return BlockShape(
        kind=strongest_kind(searchable, loadable, writable),
        writable=writable,
        loadable=loadable,
        searchable=searchable,
        keyed=writable and (loadable or searchable),
    )


def fixed_by(provider: ReadProvider) -> str | None:
    """Ask a provider for what only its author changes, if it can say so."""
    ask = getattr(provider, "fingerprint", None)
    if not callable(ask):
        return None
    try:
        given = ask()
    except Exception:
        # A provider's repr may show its text.
        logger.warning("the fingerprint of a %s failed", type(provider).__name__, exc_info=True)
        return None
    return given if isinstance(given, str) else None
