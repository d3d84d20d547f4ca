"""A block that is kept in the store, with its versions."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from ...errors import NotFoundError, StaleVersionError
from ...rules import check
from ...rules.ids import check_name
from ...store._async.contract import AsyncStore
from ..block import HeldBlock, StoredBlock, after_write, held_block_in
from ..config import BlockScope
from ..document_keys import check_scope, document_keys_of


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
