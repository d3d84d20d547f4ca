"""Documents of owners and sessions. Expired ones stay stored: a fence may name their version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ....model import Document
from ....rules.key_range import KeyRange
from ...base.extras import DocumentWrite, Extras
from ...base.refusals import renewed_until
from ..rows import document_of, encode_document, is_expired
from .client import RedisCommand
from .context import AsyncRedisWork, Look
from .deletion import PINS
from .extras import refuse_by_extras, refuse_stale, write_extras, written_document


class _DocumentSlot(NamedTuple):
    """Where a document is, what is there, and what its version will be when it is changed."""

    key: str
    now: int
    stored: Document | None
    next_version: int
    look: Look | None
    owner_version: str


class AsyncRedisDocuments(AsyncRedisWork):
    """Work on documents; a session of None means the owner's own."""

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document."""
        now, stored = await self._read(owner, session, key)
        document = stored.get(key)
        return None if document is None or is_expired(document, now) else document

    async def list_range(
        self, owner: str, session: str | None, asked: KeyRange, values: bool
    ) -> list[Document]:
        """List documents by key."""
        now, stored = await self._read(owner, session, "")
        lasting = {key: it for key, it in stored.items() if not is_expired(it, now)}
        found = [lasting[key] for key in asked.of(lasting)]
        return found if values else [replace(it, value=b"") for it in found]

    async def delete_prefix(self, owner: str, session: str | None, prefix: str) -> int:
        """Delete documents by the beginning of their keys."""
        slot = await self._slot(owner, session, prefix or "any")
        now, stored = await self._read(owner, session, "")
        keys = KeyRange(prefix).of(stored)
        if keys:
            name = PINS if PINS in keys else ""
            await self._apply(owner, name, slot, ("HDEL", slot.key, *keys))
        return sum(not is_expired(stored[key], now) for key in keys)

    async def _read(
        self, owner: str, session: str | None, key: str
    ) -> tuple[int, dict[str, Document]]:
        if session is None:
            answer = await self._owned(owner, key)
        else:
            _, answer = await self._context.directory.run_script(
                owner, session, "session_documents", key
            )
        pairs: Sequence[Any] = answer[-1]
        found = {
            name.decode(): document_of(name.decode(), stored)
            for name, stored in zip(pairs[::2], pairs[1::2], strict=True)
            if stored is not None
        }
        return int(answer[-2]), found

    async def _owned(self, owner: str, key: str) -> Sequence[Any]:
        time = self._context.directory.time()
        answer: Sequence[Any] = await self._context.client.run_script(
            "owner_documents", [self._context.keys.owner(owner)], time, key
        )
        return answer

    async def put(self, owner: str, session: str | None, new: DocumentWrite) -> Document:
        """Create or replace a document."""
        assert new.value is not None
        key, slot = new.key, await self._slot(owner, session, new.key)
        refuse_stale(key, slot.stored, new.expected_version, slot.now)
        document = written_document(new, new.value, slot.next_version, slot.now)
        owners = ("SADD", self._context.keys.owners, owner)
        if session is None:
            await self._context.client.run(*owners)
        await self._apply(owner, key, slot, ("HSET", slot.key, key, encode_document(document)))
        if session is None and not slot.owner_version:
            # Somebody may have erased the owner in between, who had none before.
            await self._context.client.run(*owners)
        return document

    async def put_all(self, owner: str, session: str, extras: Extras) -> dict[str, int]:
        """Put and delete some of a session's documents."""
        context = self._context
        look = await context.directory.look(owner, session)
        stored = await refuse_by_extras(context, look, None, extras)
        writes = write_extras(context, look, extras, stored)
        if writes.commands:
            await context.apply(owner, look, writes.commands, after_appends=True)
        return writes.versions

    async def renew(
        self, owner: str, session: str | None, key: str, expected_version: int, expires_in_us: int
    ) -> Document:
        """Let a document expire later; its version stays."""
        slot = await self._slot(owner, session, key)
        refuse_stale(key, slot.stored, expected_version, slot.now)
        assert slot.stored is not None
        until = renewed_until(key, slot.stored.expires_us, slot.now, expires_in_us)
        renewed = replace(slot.stored, expires_us=until)
        await self._apply(owner, key, slot, ("HSET", slot.key, key, encode_document(renewed)))
        return renewed

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; return whether it was there and not expired."""
        slot = await self._slot(owner, session, key)
        stored = slot.stored
        refuse_stale(key, slot.stored, expected_version, slot.now)
        if stored is None:
            return False
        await self._apply(owner, key, slot, ("HDEL", slot.key, key))
        return not is_expired(stored, slot.now)

    async def _slot(self, owner: str, session: str | None, key: str) -> _DocumentSlot:
        if session is None:
            version, clock, now, (_, stored) = await self._owned(owner, key)
            # It begins with a time, so that versions from before an erasure are not used again.
            next_version = int(version or clock) + 1
            place, look, state = self._context.keys.owner(owner, "k:"), None, version.decode()
        else:
            look = await self._context.directory.look(owner, session)
            place = self._context.key(look.tree, f"k:{look.row.number}")
            stored = await self._context.client.run("HGET", place, key)
            now, next_version, state = look.now, look.version + 1, ""
        document = None if stored is None else document_of(key, stored)
        return _DocumentSlot(place, int(now), document, next_version, look, state)

    async def _apply(
        self, owner: str, key: str, slot: _DocumentSlot, command: RedisCommand
    ) -> None:
        context, look = self._context, slot.look
        if look is not None:
            commands = [command]
            if key == PINS:
                commands.append(context.change(look, {"c": ""}))
            await context.apply(owner, look, commands, after_appends=True)
            return
        place = context.keys.owner(owner)
        begun = () if slot.owner_version else (("HSET", place, "v", slot.next_version - 1),)
        await context.apply_at(place, slot.owner_version, [*begun, command], where=place)
