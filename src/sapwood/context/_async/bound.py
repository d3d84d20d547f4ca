"""A configured block together with where its text comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ...calls import AsyncCall
from ...errors import UsageError
from ...rules import check
from ...rules.fingerprint import fingerprint_of
from ...rules.prompt import Piece
from ...store._async.contract import AsyncStore
from ..block import Block
from ..config import BlockConfig, facts_of, provider_of, shape_of
from .store_block import AsyncStoreBlock


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a block holds now."""

    content: str
    version: int | None
    origin: str
    by: str | None = None


class AsyncBound:
    """A block that can be read. It remembers nothing: every call asks its provider."""

    def __init__(self, config: BlockConfig, store: AsyncStore, owner: str, session: str) -> None:
        given = provider_of(config)
        self.provider: Any = given
        if given is None:
            self.provider = AsyncStoreBlock(
                store,
                owner,
                config.label,
                session=session,
                scope=config.scope,
                agent=config.agent,
            )
        self.config = config
        self.label = config.label
        self.shape = shape_of(config, self.provider)
        self._is_default = given is not None and config.provider is None

    @property
    def stored(self) -> AsyncStoreBlock | None:
        """The stored block, with versions; None when the text comes from elsewhere."""
        return self.provider if isinstance(self.provider, AsyncStoreBlock) else None

    def fingerprint(self) -> str:
        """Give the fingerprint of the configuration."""
        return fingerprint_of(facts_of(self.config, self.provider, self.stored is not None))

    async def read(self, *, missing_ok: bool = False) -> Reading:
        """Read what it holds; with `missing_ok` a session that is not there holds nothing."""
        default = self.config.default or ""
        if self.stored is not None:
            held = await self.stored.read(missing_ok=missing_ok)
            stored = held.stored
            content = default if stored.content is None else stored.content
            return Reading(
                content=content, version=held.version, origin=stored.origin, by=stored.by
            )
        given = await self.ask(self.provider.get)
        if given is None:
            return Reading(content=default, version=None, origin="default")
        origin = "default" if self._is_default else "provider"
        return Reading(content=given, version=None, origin=origin)

    async def ask(self, method: Callable[..., Any], *args: Any) -> str | None:
        """Call a provider's method, and make sure that it gives text or nothing."""
        given = await AsyncCall.now(method, *args)
        if given is None:
            return None
        if not isinstance(given, str):
            raise UsageError(
                f"the provider of block {self.label!r} gave a {type(given).__name__}: "
                "it must give text or None",
                path="provider",
            )
        check.text(given, f"the text of block {self.label!r}")
        return given

    def block(self, reading: Reading, tokens: int) -> Block:
        """Give the record of what was read."""
        return Block(
            label=self.label,
            description=self.config.description,
            content=reading.content,
            tokens=tokens,
            max_tokens=self.config.max_tokens,
            writable=self.shape.writable,
            loadable=self.shape.loadable,
            searchable=self.shape.searchable,
            version=reading.version,
            origin=reading.origin,
            by=reading.by,
        )

    def piece(self, content: str, tokens: int) -> Piece:
        """Give what the prompt shows of a content."""
        return Piece(
            label=self.label,
            description=self.config.description,
            content=content,
            tokens=tokens,
            max_tokens=self.config.max_tokens,
            kind=self.shape.kind,
        )
