"""What is loaded now: kept in the session's document `loaded`, so that it survives a restart."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...errors import NotFoundError, StaleVersionError, StoreCorruptError, UsageError
from ...rules import check
from ..loaded_key import LoadedKey
from .blocks import AsyncBlocks

KEY = "loaded"

_decode = msgspec.json.Decoder(list[LoadedKey]).decode


class AsyncLoadedEntries:
    """The loaded keys of one session."""

    def __init__(self, blocks: AsyncBlocks) -> None:
        self._blocks = blocks

    async def keys(self) -> list[LoadedKey]:
        """Return what is loaded, in the order in which it was loaded."""
        labels = {bound.label for bound in self._blocks.bound if bound.shape.loadable}
        return [key for key in (await self._find())[0] if key.label in labels]

    async def load(self, label: str, key: str) -> str:
        """Return an entry's text, and remember that it is loaded."""
        bound = self._blocks.get(label)
        if not bound.shape.loadable:
            raise UsageError(f"block {label!r} has nothing to load", path="label")
        check.text(key, "key")
        text = await bound.ask(bound.provider.load, key)
        if text is None:
            raise NotFoundError(f"block {label!r} has no {key!r}", kind="key", id=key)
        new = LoadedKey(label, key)
        if await self._change(lambda keys: [*(it for it in keys if it != new), new]):
            await self._blocks.changed(label, "load")
        return text

    async def unload(self, label: str, key: str) -> bool:
        """Forget that an entry is loaded; return whether it was."""
        self._blocks.get(label)
        old = LoadedKey(label, key)
        gone = await self._change(lambda keys: [it for it in keys if it != old])
        if gone:
            await self._blocks.changed(label, "unload")
        return gone

    async def unload_all(self) -> int:
        """Forget all that is loaded; return how much it was."""
        held, _ = await self._find(missing_ok=self._blocks.may_be_missing)
        if await self._change(lambda keys: []):
            for key in held:
                await self._blocks.changed(key.label, "unload")
        return len(held)

    async def _change(self, edit: Callable[[list[LoadedKey]], list[LoadedKey]]) -> bool:
        blocks = self._blocks
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            before, version = await self._find(missing_ok=blocks.may_be_missing)
            after = edit(before)
            if after == before:
                return False
            await blocks.before_write()
            try:
                await blocks.store.put_document(
                    blocks.owner,
                    KEY,
                    msgspec.json.encode(after),
                    session=blocks.session,
                    expected_version=version,
                )
            except StaleVersionError:
                continue
            return True

    async def _find(self, *, missing_ok: bool = False) -> tuple[list[LoadedKey], int]:
        blocks = self._blocks
        try:
            document = await blocks.store.find_document(blocks.owner, KEY, session=blocks.session)
        except NotFoundError:
            if not missing_ok:
                raise
            document = None
        if document is None:
            return [], 0
        try:
            return _decode(document.value), document.version
        except (msgspec.MsgspecError, ValueError) as error:
            raise StoreCorruptError(f"document {KEY!r} is no list of keys: {error}") from error
