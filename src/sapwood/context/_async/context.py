"""The context of one session: its blocks, its frozen prompt, and what is loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

import msgspec

from ...errors import NotFoundError, StaleVersionError, UsageError
from ...model import Document
from ...rules import check
from ...rules.codec import decode_stored
from ..block import Block
from ..config import BlockConfig, BlockShape, check_labels
from ..entry import LoadedKey
from .block_methods import AsyncBlockMethods
from .bound_block import AsyncBoundBlock, BlockContent
from .context_base import AsyncContextBase
from .prompt_methods import AsyncPromptMethods

logger = logging.getLogger(__name__)

LOADED_DOCUMENT = "loaded"

_decode_loaded = msgspec.json.Decoder(list[LoadedKey]).decode


class AsyncEntryMethods(AsyncContextBase):
    """The entries of blocks: searched, and loaded until they are unloaded."""

    async def search(self, label: str, query: str) -> str:
        """Search a block's entries; the empty string when nothing was found."""
        bound = self._get(label)
        if not bound.shape.searchable:
            raise UsageError(f"block {label!r} cannot be searched", path="label")
        check.text(query, "query")
        return await bound.ask(bound.provider.search, query) or ""

    async def loaded(self) -> list[LoadedKey]:
        """Return what is loaded, as (label, key), in the order in which it was loaded."""
        labels = {bound.label for bound in self._bound if bound.shape.loadable}
        document = await self._find_document(LOADED_DOCUMENT)
        return [key for key in _loaded_in(document) if key.label in labels]

    async def load(self, label: str, key: str) -> str:
        """Return an entry's text, and remember that it is loaded."""
        bound = self._get(label)
        if not bound.shape.loadable:
            raise UsageError(f"block {label!r} has nothing to load", path="label")
        check.text(key, "key")
        text = await bound.ask(bound.provider.load, key)
        if text is None:
            raise NotFoundError(f"block {label!r} has no {key!r}", kind="key", id=key)
        new = LoadedKey(label, key)
        if await self._change_loaded(lambda keys: [*(it for it in keys if it != new), new]):
            await self._changed(label, "load")
        return text

    async def unload(self, label: str, key: str) -> bool:
        """Forget that an entry is loaded; return whether it was."""
        self._get(label)
        old = LoadedKey(label, key)
        gone = await self._change_loaded(lambda keys: [it for it in keys if it != old])
        if gone:
            await self._changed(label, "unload")
        return gone

    async def unload_all(self) -> int:
        """Forget all that is loaded; return how much it was."""
        held = _loaded_in(
            await self._find_document(LOADED_DOCUMENT, missing_ok=self._may_be_missing)
        )
        if await self._change_loaded(lambda keys: []):
            for key in held:
                await self._changed(key.label, "unload")
        return len(held)

    async def _change_loaded(self, edit: Callable[[list[LoadedKey]], list[LoadedKey]]) -> bool:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            document = await self._find_document(LOADED_DOCUMENT, missing_ok=self._may_be_missing)
            before = _loaded_in(document)
            after = edit(before)
            if after == before:
                return False
            await self._before_write()
            with suppress(StaleVersionError):
                await self._put_document(LOADED_DOCUMENT, msgspec.json.encode(after), document)
                return True


def _loaded_in(document: Document | None) -> list[LoadedKey]:
    if document is None:
        return []
    return decode_stored(
        _decode_loaded, document.value, f"document {LOADED_DOCUMENT!r} is no list of keys"
    )


class AsyncContext(AsyncBlockMethods, AsyncEntryMethods, AsyncPromptMethods):
    """The blocks of a session. It remembers nothing but the configuration: every call asks.

    `before_write` is awaited before something is written, so that a session that waits for its
    first write can be created; `on_change` is called with a label and what was done. A label that
    is not configured is `NotFoundError`, and so is a session that is not there.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.session!r} of {self.owner!r}>"

    @property
    def configs(self) -> list[BlockConfig]:
        """How the blocks are configured, in their order."""
        return [bound.config for bound in self._bound]

    @property
    def shapes(self) -> dict[str, BlockShape]:
        """What can be done with each block, by label, in their order."""
        return {bound.label: bound.shape for bound in self._bound}

    async def add(self, config: BlockConfig) -> Block:
        """Add a block after the others; the next freeze renders the prompt anew.

        `UsageError` when the label is taken.
        """
        new = self._bind(config)
        with self._lock:
            check_labels(bound.label for bound in (*self._bound, new))
            self._bound = (*self._bound, new)
        await self._changed(config.label, "add")
        return await self._listed(new, missing_ok=self._may_be_missing)

    async def remove(self, label: str) -> bool:
        """Take a block out; return whether it was there. What it holds stays where it is."""
        with self._lock:
            left = tuple(bound for bound in self._bound if bound.label != label)
            was_there = len(left) < len(self._bound)
            self._bound = left
        if was_there:
            await self._changed(label, "remove")
        return was_there

    async def blocks(self) -> list[Block]:
        """Read all blocks; one whose provider fails has its `error` set, and no content."""
        return [await self._listed(bound) for bound in self._bound]

    async def block(self, label: str) -> Block:
        """Read a block; when its provider fails, that error is raised."""
        bound = self._get(label)
        return bound.block(await bound.read())

    async def _listed(self, bound: AsyncBoundBlock, *, missing_ok: bool = False) -> Block:
        try:
            return bound.block(await bound.read(missing_ok=missing_ok))
        except Exception as error:
            if bound.stored is not None:
                raise
            logger.warning("block %r cannot be read", bound.label, exc_info=True)
            unread = BlockContent(content="", version=None, origin="provider")
            reason = f"{type(error).__name__}: {error}"
            return msgspec.structs.replace(bound.block(unread), tokens=0, error=reason)
