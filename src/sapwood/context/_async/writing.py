"""Writing blocks: checked as a whole before anything is written, and never over unseen text."""

from __future__ import annotations

from ...calls import AsyncCall
from ...errors import NotFoundError, StaleVersionError, UsageError
from ...rules import check
from ...rules.ids import check_name
from ...rules.slug import entry_key
from ..block import Block, BlockVersion, Held, undone, versions_of, written
from ..config import check_limit
from .blocks import AsyncBlocks
from .bound import AsyncBound, Reading
from .entries import AsyncStoreEntries
from .store_block import AsyncStoreBlock


class AsyncWriting:
    """Changes of blocks."""

    def __init__(self, blocks: AsyncBlocks) -> None:
        self._blocks = blocks

    async def write(
        self, label: str, content: str, *, add: bool, origin: str, expected_version: int | None
    ) -> Block:
        """Replace what a block holds, or add to it."""
        check.text(content, "content")
        check_name(origin, "origin")
        check.version(expected_version)
        bound = self._writable(label)
        if bound.shape.keyed:
            raise UsageError(f"block {label!r} has entries: write one with put_entry", path="label")
        if bound.stored is not None:
            return await self._write_stored(
                bound, bound.stored, content, add, origin, expected_version
            )
        if expected_version is not None:
            raise _versionless(label, "expected_version")
        return await self._write_provider(bound, content, add)

    async def undo(self, label: str) -> Block:
        """Take the last write of a block back."""
        bound = self._writable(label)
        if bound.stored is None:
            raise _versionless(label, "label")
        held = await bound.stored.read()
        stored = undone(held)
        if stored is None:
            raise NotFoundError(
                f"block {label!r} has no earlier content to go back to", kind="version", id=label
            )
        content = (bound.config.default or "") if stored.content is None else stored.content
        check_limit(bound.config, content, self._blocks.count)
        await self._blocks.before_write()
        # Not tried again after a lost race: it would take back what nobody here has seen.
        after = await bound.stored.put(stored, held.version)
        await self._blocks.changed(label, "undo")
        return self._block_of(bound, after)

    async def versions(self, label: str) -> list[BlockVersion]:
        """Give what a block held, the newest first."""
        bound = self._blocks.get(label)
        if bound.stored is None:
            raise _versionless(label, "label")
        return versions_of(await bound.stored.read(), bound.config.default)

    async def put_entry(
        self, label: str, title: str | None, content: str, description: str | None, origin: str
    ) -> str:
        """Write an entry of a block; give its key."""
        check_name(origin, "origin")
        bound = self._writable(label)
        if not bound.shape.keyed:
            raise UsageError(f"block {label!r} has no entries: write it with replace", path="label")
        for what, text in (("title", title), ("content", content), ("description", description)):
            if text is not None:
                check.text(text, what)
        key = entry_key(title, content)
        told = _line(title, description)
        check_limit(bound.config, content, self._blocks.count)
        await self._blocks.before_write()
        await self._check_catalogue(bound, key, told)
        if isinstance(bound.provider, AsyncStoreEntries):
            by = self._blocks.session
            await bound.provider.put(key, content, told, origin=origin, by=by)
        else:
            await AsyncCall.now(bound.provider.set, key, content, told)
        await self._blocks.changed(label, "entry")
        return key

    async def _check_catalogue(self, bound: AsyncBound, key: str, description: str | None) -> None:
        """Refuse an entry whose line would put the catalogue over the limit."""
        if bound.config.max_tokens is None or not bound.shape.loadable:
            return
        reading = await bound.read()
        line = f"- {key}: {description or ''}"
        others = [it for it in reading.content.split("\n") if not f"{it}:".startswith(f"- {key}:")]
        check_limit(bound.config, "\n".join([*others, line]), self._blocks.count)

    def _writable(self, label: str) -> AsyncBound:
        bound = self._blocks.get(label)
        if not bound.shape.writable:
            raise UsageError(f"block {label!r} is read-only", path="label")
        return bound

    async def _write_stored(
        self,
        bound: AsyncBound,
        stored: AsyncStoreBlock,
        content: str,
        add: bool,
        origin: str,
        expected_version: int | None,
    ) -> Block:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            held = await stored.read(missing_ok=self._blocks.may_be_missing)
            _expect(bound.label, held, expected_version)
            before = held.stored.content
            after = content
            if add:
                after = joined((bound.config.default or "") if before is None else before, content)
            check_limit(bound.config, after, self._blocks.count)
            if (add and not content) or (after == before and origin == held.stored.origin):
                return self._block_of(bound, held)
            await self._blocks.before_write()
            new = written(held, after, origin, self._blocks.session)
            try:
                held = await stored.put(new, held.version)
            except StaleVersionError:
                if expected_version is not None:
                    raise
                continue
            await self._blocks.changed(bound.label, _action(add))
            return self._block_of(bound, held)

    async def _write_provider(self, bound: AsyncBound, content: str, add: bool) -> Block:
        if add:
            # A read that fails is raised here: nothing is written over text that was not seen.
            before = await bound.read()
            content = joined(before.content, content)
        tokens = check_limit(bound.config, content, self._blocks.count)
        await self._blocks.before_write()
        await AsyncCall.now(bound.provider.set, content)
        await self._blocks.changed(bound.label, _action(add))
        return bound.block(Reading(content=content, version=None, origin="provider"), tokens)

    def _block_of(self, bound: AsyncBound, held: Held) -> Block:
        stored = held.stored
        content = (bound.config.default or "") if stored.content is None else stored.content
        reading = Reading(content=content, version=held.version, origin=stored.origin, by=stored.by)
        return bound.block(reading, self._blocks.count(content))


def joined(before: str, addition: str) -> str:
    """Add text on a line of its own."""
    if not before or not addition or before.endswith("\n") or addition.startswith("\n"):
        return before + addition
    return f"{before}\n{addition}"


def _line(title: str | None, description: str | None) -> str | None:
    """Say in one line what an entry is: a catalogue has one for each."""
    said = [" ".join(text.split()) for text in (title, description) if text]
    return " — ".join(text for text in said if text) or None


def _action(add: bool) -> str:
    return "append" if add else "replace"


def _expect(label: str, held: Held, expected_version: int | None) -> None:
    if expected_version is not None and held.version != expected_version:
        raise StaleVersionError(
            f"block {label!r} is at version {held.version}, not {expected_version}: "
            "read it again, then decide"
        )


def _versionless(label: str, path: str) -> UsageError:
    return UsageError(f"block {label!r} is not stored by sapwood, and keeps no versions", path=path)
