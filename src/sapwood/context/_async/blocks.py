"""The configured blocks of one session, and what reading and writing them needs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...calls import AsyncCall
from ...errors import NotFoundError
from ...rules.ids import check_name
from ...rules.tokens import MAX_TOKENS, estimate_text
from ...store._async.contract import AsyncStore
from ..config import BlockConfig, check_config, check_labels, check_limit
from .bound import AsyncBound

logger = logging.getLogger(__name__)


class AsyncBlocks:
    """Blocks by label, in their order; the hooks around writes; the token counter."""

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        session: str,
        configs: Sequence[BlockConfig],
        *,
        counter: Callable[[str], int],
        before_write: Callable[[], Any] | None,
        on_change: Callable[[str, str], Any] | None,
    ) -> None:
        check_name(owner, "owner")
        check_name(session, "session")
        self.store = store
        self.owner = owner
        self.session = session
        self._counter = counter
        self._before_write = before_write
        self._on_change = on_change
        self._lock = threading.Lock()
        # Replaced and never changed, so that a thread that reads it sees one state of it.
        self._bound: tuple[AsyncBound, ...] = tuple(self._bind(config) for config in configs)
        check_labels(bound.label for bound in self._bound)

    @property
    def bound(self) -> tuple[AsyncBound, ...]:
        """The blocks, in their order."""
        return self._bound

    @property
    def may_be_missing(self) -> bool:
        """Whether the session may not be there yet when something is written."""
        return self._before_write is not None

    def get(self, label: str) -> AsyncBound:
        """Give a block, or raise `NotFoundError`."""
        for bound in self._bound:
            if bound.label == label:
                return bound
        known = ", ".join(repr(bound.label) for bound in self._bound) or "none"
        raise NotFoundError(
            f"there is no block {label!r}: the blocks are {known}", kind="block", id=str(label)
        )

    def add(self, config: BlockConfig) -> AsyncBound:
        """Add a block after the others."""
        new = self._bind(config)
        with self._lock:
            check_labels(bound.label for bound in (*self._bound, new))
            self._bound = (*self._bound, new)
        return new

    def remove(self, label: str) -> bool:
        """Take a block out; tell whether it was there. What it holds stays stored."""
        with self._lock:
            left = tuple(bound for bound in self._bound if bound.label != label)
            was_there = len(left) < len(self._bound)
            self._bound = left
        return was_there

    def count(self, text: str) -> int:
        """Count tokens with the user's counter; when that fails, by the estimate."""
        try:
            tokens = self._counter(text)
        except Exception:
            logger.warning("the token counter failed; the estimate is used", exc_info=True)
            return estimate_text(text)
        if type(tokens) is not int or not 0 <= tokens <= MAX_TOKENS:
            logger.warning("the token counter gave %r; the estimate is used", tokens)
            return estimate_text(text)
        return tokens

    async def before_write(self) -> None:
        """Let the session be created, if it waits for its first write."""
        if self._before_write is not None:
            await AsyncCall.now(self._before_write)

    async def changed(self, label: str, action: str) -> None:
        """Tell of a change; a listener that fails harms nothing."""
        if self._on_change is None:
            return
        try:
            await AsyncCall.now(self._on_change, label, action)
        except Exception:
            logger.warning("on_change failed for block %r", label, exc_info=True)

    def _bind(self, config: BlockConfig) -> AsyncBound:
        check_config(config)
        if config.default is not None:
            check_limit(config, config.default, self.count)
        return AsyncBound(config, self.store, self.owner, self.session)
