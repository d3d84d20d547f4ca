"""The methods of a context for its blocks' entries; what is loaded is a document, `loaded`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec

from ...errors import NotFoundError, StaleVersionError, UsageError
from ...model import Document
from ...rules import check
from ...rules.codec import decode_stored
from ..entry import LoadedKey
from .context_base import AsyncContextBase

KEY = "loaded"

_decode = msgspec.json.Decoder(list[LoadedKey]).decode


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
        document = await self._find_document(KEY)
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
        held = _loaded_in(await self._find_document(KEY, missing_ok=self._may_be_missing))
        if await self._change_loaded(lambda keys: []):
            for key in held:
                await self._changed(key.label, "unload")
        return len(held)

    async def _change_loaded(self, edit: Callable[[list[LoadedKey]], list[LoadedKey]]) -> bool:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            document = await self._find_document(KEY, missing_ok=self._may_be_missing)
            before = _loaded_in(document)
            after = edit(before)
            if after == before:
                return False
            await self._before_write()
            with suppress(StaleVersionError):
                await self._put_document(KEY, msgspec.json.encode(after), document)
                return True


def _loaded_in(document: Document | None) -> list[LoadedKey]:
    if document is None:
        return []
    return decode_stored(_decode, document.value, f"document {KEY!r} is no list of keys")
