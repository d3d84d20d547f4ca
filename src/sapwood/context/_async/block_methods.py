"""The methods of a context that write blocks: checked first, and never over unseen text."""

from __future__ import annotations

from typing import Literal

from ...calls import AsyncCall
from ...errors import NotFoundError, StaleVersionError, UsageError
from ...rules import check
from ...rules.ids import check_name
from ...rules.slug import entry_key
from ..block import Block, BlockVersion, after_undo, after_write, versions_of
from ..config import check_limit
from .bound_block import AsyncBoundBlock, AsyncStoreBlock, BlockContent
from .context_base import AsyncContextBase
from .entries import AsyncStoreEntries

WriteAction = Literal["append", "replace"]


class AsyncBlockMethods(AsyncContextBase):
    """Changes of blocks."""

    async def replace(
        self,
        label: str,
        content: str,
        *,
        expected_version: int | None = None,
        origin: str = "user",
    ) -> Block:
        """Replace what a block holds.

        `StaleVersionError` when a stored block is not at the expected version (0: nothing was
        written yet), `BlockLimitError` when it would be over its limit. The same again writes
        nothing.
        """
        return await self._write("replace", label, content, expected_version, origin)

    async def append(
        self,
        label: str,
        content: str,
        *,
        expected_version: int | None = None,
        origin: str = "user",
    ) -> Block:
        """Add to what a block holds, on a line of its own; errors as of `replace`.

        Several writers of a stored block all land, one after the other.
        """
        return await self._write("append", label, content, expected_version, origin)

    async def undo(self, label: str) -> Block:
        """Take the last write of a stored block back; called again, the one before it.

        `NotFoundError` when there is nothing to go back to, `StaleVersionError` when somebody
        wrote to it meanwhile.
        """
        bound = self._writable(label)
        if bound.stored is None:
            raise _versionless(label, "label")
        held = await bound.stored.read()
        stored = after_undo(held)
        if stored is None:
            raise NotFoundError(
                f"block {label!r} has no earlier content to go back to", kind="version", id=label
            )
        check_limit(bound.config, bound.or_default(stored.content), self._count)
        await self._before_write()
        # Not tried again after a lost race: it would take back what nobody here has seen.
        after = await bound.stored.put(stored, held.version)
        await self._changed(label, "undo")
        return bound.block(bound.content_of(after))

    async def versions(self, label: str) -> list[BlockVersion]:
        """Return what a stored block held, the newest first: the last 20 contents, up to 1 MB."""
        bound = self._get(label)
        if bound.stored is None:
            raise _versionless(label, "label")
        return versions_of(await bound.stored.read(), bound.config.default)

    async def put_entry(
        self,
        label: str,
        title: str | None,
        content: str,
        description: str | None = None,
        *,
        origin: str = "user",
    ) -> str:
        """Write an entry of a block that has entries; return its key.

        The same title writes the same entry again. Without a title, the content names it.
        """
        check_name(origin, "origin")
        bound = self._writable(label)
        if not bound.shape.keyed:
            raise UsageError(f"block {label!r} has no entries: write it with replace", path="label")
        for what, text in (("title", title), ("content", content), ("description", description)):
            if text is not None:
                check.text(text, what)
        key = entry_key(title, content)
        told = _line(title, description)
        check_limit(bound.config, content, self._count)
        await self._before_write()
        await self._check_catalogue(bound, key, told)
        if isinstance(bound.provider, AsyncStoreEntries):
            await bound.provider.put(key, content, told, origin=origin, by=self._session)
        else:
            await AsyncCall.now(bound.provider.set, key, content, told)
        await self._changed(label, "entry")
        return key

    async def _check_catalogue(
        self, bound: AsyncBoundBlock, key: str, description: str | None
    ) -> None:
        """Refuse an entry whose line would put the catalogue over the limit."""
        if bound.config.max_tokens is None or not bound.shape.loadable:
            return
        reading = await bound.read()
        line = f"- {key}: {description or ''}"
        others = [it for it in reading.content.split("\n") if not f"{it}:".startswith(f"- {key}:")]
        check_limit(bound.config, "\n".join([*others, line]), self._count)

    def _writable(self, label: str) -> AsyncBoundBlock:
        bound = self._get(label)
        if not bound.shape.writable:
            raise UsageError(f"block {label!r} is read-only", path="label")
        return bound

    async def _write(
        self,
        action: WriteAction,
        label: str,
        content: str,
        expected_version: int | None,
        origin: str,
    ) -> Block:
        check.text(content, "content")
        check_name(origin, "origin")
        check.version(expected_version)
        bound = self._writable(label)
        if bound.shape.keyed:
            raise UsageError(f"block {label!r} has entries: write one with put_entry", path="label")
        if bound.stored is not None:
            return await self._write_stored(
                action, bound, bound.stored, content, expected_version, origin
            )
        if expected_version is not None:
            raise _versionless(label, "expected_version")
        if action == "append":
            # A read that fails is raised here: nothing is written over text that was not seen.
            content = joined((await bound.read()).content, content)
        check_limit(bound.config, content, self._count)
        await self._before_write()
        await AsyncCall.now(bound.provider.set, content)
        await self._changed(label, action)
        return bound.block(BlockContent(content=content, version=None, origin="provider"))

    async def _write_stored(
        self,
        action: WriteAction,
        bound: AsyncBoundBlock,
        stored: AsyncStoreBlock,
        content: str,
        expected_version: int | None,
        origin: str,
    ) -> Block:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            held = await stored.read(missing_ok=self._may_be_missing)
            if expected_version is not None and held.version != expected_version:
                raise StaleVersionError(
                    f"block {bound.label!r} is at version {held.version}, not {expected_version}: "
                    "read it again, then decide"
                )
            before, adds = held.stored.content, action == "append"
            after = joined(bound.or_default(before), content) if adds else content
            check_limit(bound.config, after, self._count)
            if (adds and not content) or (after == before and origin == held.stored.origin):
                return bound.block(bound.content_of(held))
            await self._before_write()
            new = after_write(held, after, origin, self._session)
            try:
                held = await stored.put(new, held.version)
            except StaleVersionError:
                if expected_version is not None:
                    raise
                continue
            await self._changed(bound.label, action)
            return bound.block(bound.content_of(held))


def joined(before: str, addition: str) -> str:
    """Add text on a line of its own."""
    if not before or not addition or before.endswith("\n") or addition.startswith("\n"):
        return before + addition
    return f"{before}\n{addition}"


def _line(title: str | None, description: str | None) -> str | None:
    """Return in one line what an entry is: a catalogue has one for each."""
    said = [" ".join(text.split()) for text in (title, description) if text]
    return " — ".join(text for text in said if text) or None


def _versionless(label: str, path: str) -> UsageError:
    return UsageError(f"block {label!r} is not stored by sapwood, and keeps no versions", path=path)
