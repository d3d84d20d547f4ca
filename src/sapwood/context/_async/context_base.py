"""What the methods of a context stand on: blocks, documents, and the hooks around writes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...calls import AsyncCall
from ...errors import NotFoundError
from ...model import Document
from ...rules.ids import check_name
from ...rules.tokens import ask_counter, estimate_text
from ...store._async.contract import AsyncStore
from ..config import BlockConfig, check_config, check_labels
from .bound_block import AsyncBoundBlock

logger = logging.getLogger(__name__)


class AsyncContextBase:
    """The configured blocks of one session, in their order."""

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        session: str,
        blocks: Sequence[BlockConfig] = (),
        *,
        counter: Callable[[str], int] = estimate_text,
        before_write: Callable[[], Any] | None = None,
        on_change: Callable[[str, str], Any] | None = None,
    ) -> None:
        check_name(owner, "owner")
        check_name(session, "session")
        self._store = store
        self._owner = owner
        self._session = session
        self._counter = counter
        self._hook = before_write
        self._on_change = on_change
        self._own: set[str] = set()  # the configurations that it had itself
        self._lock = threading.Lock()
        # Replaced and never changed, so that a thread that reads it sees one state of it.
        self._bound: tuple[AsyncBoundBlock, ...] = tuple(self._bind(config) for config in blocks)
        check_labels(bound.label for bound in self._bound)

    @property
    def store(self) -> AsyncStore:
        """Where the documents are."""
        return self._store

    @property
    def owner(self) -> str:
        """Whom the session belongs to."""
        return self._owner

    @property
    def session(self) -> str:
        """The session's id."""
        return self._session

    def _bind(self, config: BlockConfig) -> AsyncBoundBlock:
        check_config(config, self._count)
        return AsyncBoundBlock(config, self._store, self._owner, self._session, self._count)

    def _get(self, label: str) -> AsyncBoundBlock:
        """Return a block, or raise `NotFoundError`."""
        for bound in self._bound:
            if bound.label == label:
                return bound
        known = ", ".join(repr(bound.label) for bound in self._bound) or "none"
        raise NotFoundError(
            f"there is no block {label!r}: the blocks are {known}", kind="block", id=str(label)
        )

    def _count(self, text: str) -> int:
        """Count tokens with the user's counter; when that fails, by the estimate."""
        tokens = ask_counter("token", self._counter, text)
        return estimate_text(text) if tokens is None else tokens

    @property
    def _may_be_missing(self) -> bool:
        """Whether the session may not be there yet when something is written."""
        return self._hook is not None

    async def _before_write(self) -> None:
        """Let the session be created, if it waits for its first write."""
        if self._hook is not None:
            await AsyncCall.now(self._hook)

    async def _changed(self, label: str, action: str) -> None:
        """Report a change; a listener that fails harms nothing."""
        if self._on_change is None:
            return
        try:
            await AsyncCall.now(self._on_change, label, action)
        except Exception:
            logger.warning("on_change failed for block %r", label, exc_info=True)

    async def _find_document(self, key: str, *, missing_ok: bool = False) -> Document | None:
        """Find a document of the session; with `missing_ok` one that is not there has none."""
        try:
            return await self._store.find_document(self._owner, key, session=self._session)
        except NotFoundError:
            if missing_ok:
                return None
            raise

    async def _put_document(self, key: str, value: bytes, before: Document | None) -> None:
        """Write a document of the session; `StaleVersionError` when it is not as before."""
        version = 0 if before is None else before.version
        await self._store.put_document(
            self._owner, key, value, session=self._session, expected_version=version
        )
