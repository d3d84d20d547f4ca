"""Documents of owners and sessions. Expired ones stay stored: a fence may name their version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ....model import Document
from ....rules.key_range import KeyRange
from ....rules.rewriting import is_still
from ...base.extras import DocumentWrite, Extras
from ...base.refusals import renewed_until
from ..look import Look
from ..rows import document_of, encode_document, is_expired
from ..scripts import range_words
from .client import RedisCommand
from .context import AsyncRedisWork
from .deletion import PINS
from .extras import refuse_by_extras, refuse_stale, write_extras, written_document

KEYS_IN_A_COMMAND = 1000
"""A script passes on so many words at most."""


class _DocumentSlot(NamedTuple):
    """Where a document is, what is there, and what its version will be when it is changed."""

    key: str
    now: int
    stored: Document | None
    next_version: int
    look: Look | None
    owner_version: str


class _FoundDocuments(NamedTuple):
    """What a script found: at which time, and whether that is the range which was asked for."""

    now: int
    documents: dict[str, Document]
    is_range: bool


class AsyncRedisDocuments(AsyncRedisWork):
    """Work on documents; a session of None means the owner's own."""

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document."""
        found = await self._read(owner, session, key)
        document = found.documents.get(key)
        return None if document is None or is_expired(document, found.now) else document

    async def list_range(
        self, owner: str, session: str | None, asked: KeyRange, values: bool
    ) -> list[Document]:
        """List documents by key."""
        found = await self._read(owner, session, "", range_words(asked, values=values))
        if found.is_range:
            return list(found.documents.values())
        lasting = {key: it for key, it in found.documents.items() if not is_expired(it, found.now)}
        listed = [lasting[key] for key in asked.of(lasting)]
        return listed if values else [replace(it, value=b"") for it in listed]

    async def delete_prefix(self, owner: str, session: str | None, prefix: str) -> int:
        """Delete documents by the beginning of their keys."""
        asked, slot = KeyRange(prefix), await self._slot(owner, session, prefix or "any")
        words = range_words(asked, values=False, expired=True)
        found = await self._read(owner, session, "", words)
        keys = asked.of(found.documents)
        if keys:
            starts = range(0, len(keys), KEYS_IN_A_COMMAND)
            some = [keys[start : start + KEYS_IN_A_COMMAND] for start in starts]
            name = PINS if PINS in keys else ""
            await self._apply(owner, name, slot, *(("drop", slot.key, *it) for it in some))
        return sum(not is_expired(found.documents[key], found.now) for key in keys)

    async def _read(
        self, owner: str, session: str | None, key: str, words: Sequence[Any] = ()
    ) -> _FoundDocuments:
        if session is None:
            answer = await self._owned(owner, key, words)
        else:
            _, answer = await self._context.directory.run_script(
                owner, session, "session_documents", key, *words
            )
        *_, now, pairs, scope = answer
        documents = {
            name.decode(): document_of(name.decode(), stored)
            for name, stored in zip(pairs[::2], pairs[1::2], strict=True)
            if stored is not None
        }
        return _FoundDocuments(int(now), documents, not scope)

    async def _owned(self, owner: str, key: str, words: Sequence[Any] = ()) -> Sequence[Any]:
        time = self._context.directory.time()
        answer: Sequence[Any] = await self._context.client.run_script(
            "owner_documents", [self._context.keys.owner(owner)], time, key, *words
        )
        return answer

    async def put(self, owner: str, session: str | None, new: DocumentWrite) -> Document:
        """Create or replace a document."""
        assert new.value is not None
        key, slot = new.key, await self._slot(owner, session, new.key)
        refuse_stale(key, slot.stored, new.expected_version, slot.now)
        document = written_document(new, new.value, slot.next_version, slot.now, slot.stored)
        owners = ("SADD", self._context.keys.owners, owner)
        if session is None:
            await self._context.client.run(*owners)
        await self._apply(owner, key, slot, ("put", slot.key, key, encode_document(document)))
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
        await self._apply(owner, key, slot, ("put", slot.key, key, encode_document(renewed)))
        return renewed

    async def rewrite(
        self, owner: str, session: str | None, changes: Sequence[tuple[Document, bytes]]
    ) -> list[int]:
        """Replace the values of documents that are still as given; return the places of others."""
        slot = await self._slot(owner, session, changes[0][0].key)
        keys = [given.key for given, _ in changes]
        commands: list[RedisCommand] = []
        lost: list[int] = []
        found = await self._context.client.run("HMGET", slot.key, *keys)
        for at, ((given, value), stored) in enumerate(zip(changes, found, strict=True)):
            document = None if stored is None else document_of(given.key, stored)
            if document is not None and is_still(document, given):
                anew = encode_document(replace(document, value=value))
                commands.append(("put", slot.key, given.key, anew))
            else:
                lost.append(at)
        if commands:
            await self._apply(owner, "", slot, *commands)
        return lost

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; return whether it was there and not expired."""
        slot = await self._slot(owner, session, key)
        stored = slot.stored
        refuse_stale(key, slot.stored, expected_version, slot.now)
        if stored is None:
            return False
        await self._apply(owner, key, slot, ("drop", slot.key, key))
        return not is_expired(stored, slot.now)

    async def _slot(self, owner: str, session: str | None, key: str) -> _DocumentSlot:
        if session is None:
            version, clock, now, (_, stored), _ = await self._owned(owner, key)
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
        self, owner: str, key: str, slot: _DocumentSlot, *changes: RedisCommand
    ) -> None:
        context, look = self._context, slot.look
        if look is not None:
            commands = list(changes)
            if key == PINS:
                commands.append(context.change(look, {"c": ""}))
            await context.apply(owner, look, commands, after_appends=True)
            return
        place = context.keys.owner(owner)
        begun = () if slot.owner_version else (("HSET", place, "v", slot.next_version - 1),)
        await context.apply_at(place, slot.owner_version, [*begun, *changes], where=place)
