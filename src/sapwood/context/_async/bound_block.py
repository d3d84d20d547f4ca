"""A configured block, where its text comes from, and the one that is kept in the store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from ...calls import AsyncCall
from ...errors import NotFoundError, StaleVersionError, UsageError
from ...rules import check
from ...rules.ids import check_name
from ...rules.prompt import BlockFacts, PromptBlock, fingerprint_of
from ...rules.wording import a_kind
from ...store._async.contract import AsyncStore
from ..block import Block, HeldBlock, StoredBlock, after_write, held_block_in
from ..config import BlockConfig, BlockScope, fixed_by, provider_of, shape_of
from ..document_keys import check_scope, document_keys_of

UNAVAILABLE = "[This block cannot be read at the moment.]"


class BlockContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a block holds now."""

    content: str
    version: int | None
    origin: str
    by: str | None = None


class AsyncBoundBlock:
    """A block that can be read. It remembers nothing: every call asks its provider."""

    def __init__(
        self,
        config: BlockConfig,
        store: AsyncStore,
        owner: str,
        session: str,
        count: Callable[[str], int],
    ) -> None:
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
        self._count = count
        self._is_default = given is not None and config.provider is None

    @property
    def stored(self) -> AsyncStoreBlock | None:
        """The stored block, with versions; None when the text comes from elsewhere."""
        return self.provider if isinstance(self.provider, AsyncStoreBlock) else None

    def fingerprint(self) -> str:
        """Return the fingerprint of all of the configuration that the frozen prompt depends on."""
        config, shape, is_stored = self.config, self.shape, self.stored is not None
        return fingerprint_of(
            BlockFacts(
                label=config.label,
                description=config.description,
                max_tokens=config.max_tokens,
                kind=shape.kind,
                writable=shape.writable,
                loadable=shape.loadable,
                searchable=shape.searchable,
                scope=config.scope if is_stored else None,
                agent=config.agent if is_stored else None,
                fixed=fixed_by(self.provider),
            )
        )

    async def read(self, *, missing_ok: bool = False) -> BlockContent:
        """Read what it holds; with `missing_ok` a session that is not there holds nothing."""
        if self.stored is not None:
            return self.content_of(await self.stored.read(missing_ok=missing_ok))
        given = await self.ask(self.provider.get)
        origin = "default" if given is None or self._is_default else "provider"
        return BlockContent(content=self.or_default(given), version=None, origin=origin)

    def or_default(self, content: str | None) -> str:
        """Return a content, or the configured one where there is none."""
        return (self.config.default or "") if content is None else content

    def content_of(self, held: HeldBlock) -> BlockContent:
        """Return what the document of a stored block says that it holds."""
        stored = held.stored
        return BlockContent(
            content=self.or_default(stored.content),
            version=held.version,
            origin=stored.origin,
            by=stored.by,
        )

    async def ask(self, method: Callable[..., Any], *args: Any) -> str | None:
        """Call a provider's method, and make sure that it gives text or nothing."""
        given = await AsyncCall.now(method, *args)
        if given is None:
            return None
        if not isinstance(given, str):
            raise UsageError(
                f"the provider of block {self.label!r} gave {a_kind(given)}: "
                "it must give text or None",
                path="provider",
            )
        check.text(given, f"the text of block {self.label!r}")
        return given

    def block(self, reading: BlockContent) -> Block:
        """Return the record of what was read."""
        return Block(
            label=self.label,
            description=self.config.description,
            content=reading.content,
            tokens=self._count(reading.content),
            max_tokens=self.config.max_tokens,
            writable=self.shape.writable,
            loadable=self.shape.loadable,
            searchable=self.shape.searchable,
            version=reading.version,
            origin=reading.origin,
            by=reading.by,
        )

    def prompt_block(self, content: str | None) -> PromptBlock:
        """Return what the prompt shows of a content; None is one that cannot be read."""
        return PromptBlock(
            label=self.label,
            description=self.config.description,
            content=UNAVAILABLE if content is None else content,
            tokens=0 if content is None else self._count(content),
            max_tokens=self.config.max_tokens,
            kind=self.shape.kind,
        )


class AsyncStoreBlock:
    """A text of a session, of an agent of the owner (`agent` names it), or of the owner.

    One document holds it and its last contents, so that every write is one compare-and-swap.
    """

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        label: str,
        *,
        session: str | None = None,
        scope: BlockScope = "session",
        agent: str | None = None,
    ) -> None:
        check_name(owner, "owner")
        check_name(label, "label")
        check_scope(scope, agent, label)
        self._store = store
        self._owner = owner
        self._place = document_keys_of(scope, session, agent)
        self._key = self._place.block(label)

    async def get(self) -> str | None:
        """Return the text; None when nothing was written."""
        return (await self.read()).stored.content

    async def set(self, content: str) -> None:
        """Replace the text; what it was before can be had back."""
        check.text(content, "content")
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            held = await self.read()
            with suppress(StaleVersionError):
                await self.put(after_write(held, content, "user", None), held.version)
                return

    async def read(self, *, missing_ok: bool = False) -> HeldBlock:
        """Read the document; with `missing_ok` a session that is not there has none."""
        try:
            document = await self._store.find_document(
                self._owner, self._key, session=self._place.session
            )
        except NotFoundError:
            if not missing_ok:
                raise
            document = None
        return held_block_in(document)

    async def put(self, stored: StoredBlock, expected_version: int) -> HeldBlock:
        """Write the document, or raise `StaleVersionError`."""
        document = await self._store.put_document(
            self._owner,
            self._key,
            msgspec.json.encode(stored),
            session=self._place.session,
            expected_version=expected_version,
        )
        return HeldBlock(stored=stored, version=document.version, updated_us=document.updated_us)
