"""The context of one session: its blocks, its frozen prompt, and what is loaded."""

from __future__ import annotations

import logging

import msgspec

from ..block import Block
from ..config import BlockConfig, BlockShape, check_labels
from .block_methods import AsyncBlockMethods
from .bound_block import AsyncBoundBlock, BlockContent
from .entry_methods import AsyncEntryMethods
from .prompt_methods import AsyncPromptMethods

logger = logging.getLogger(__name__)


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
