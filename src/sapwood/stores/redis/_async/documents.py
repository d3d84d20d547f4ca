"""Documents of owners and sessions. Expired ones stay stored: a fence may name their version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....errors import StaleVersionError
from ....model import Document
from ..rows import document_of, encode_document
from .context import AsyncContext
from .link import Command
from .tree import Look, MovedError, flat

PINS = "pins"


class _Shelf(NamedTuple):
    """Where a document is, what is there, and what its version will be when it is changed."""

    key: str
    now: int
    stored: Document | None
    next_version: int
    look: Look | None
    owner_version: str


class AsyncRedisDocuments:
    """Work on documents; a session of None means the owner's own."""

    def __init__(self, context: AsyncContext) -> None:
        self._context = context

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document."""
        now, stored = await self._read(owner, session, key)
        document = stored.get(key)
        return None if document is None or is_expired(document, now) else document

    async def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]:
        """List documents by key."""
        now, stored = await self._read(owner, session, "")
        return [
            document
            for key, document in sorted(stored.items())
            if key.startswith(prefix) and not is_expired(document, now)
        ]

    async def _read(
        self, owner: str, session: str | None, key: str
    ) -> tuple[int, dict[str, Document]]:
        directory = self._context.directory
        if session is None:
            answer = await self._owned(owner, key)
        else:
            _, answer = await directory.ask_script(owner, session, "documents", key)
        pairs: Sequence[Any] = answer[-1]
        found = {
            name.decode(): document_of(name.decode(), stored)
            for name, stored in zip(pairs[::2], pairs[1::2], strict=True)
            if stored is not None
        }
        return int(answer[-2]), found

    async def _owned(self, owner: str, key: str) -> Sequence[Any]:
        time = self._context.directory.time()
        answer: Sequence[Any] = await self._context.link.ask(
            "owned", [self._context.keys.owner(owner)], time, key
        )
        return answer

    async def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document:
        """Create or replace a document."""
        shelf = await self._shelf(owner, session, key)
        _check_version(key, shelf.stored, expected_version, shelf.now)
        document = Document(
            key=key,
            value=value,
            version=shelf.next_version,
            updated_us=shelf.now,
            expires_us=None if expires_in_us is None else shelf.now + expires_in_us,
        )
        owners = ("SADD", self._context.keys.owners, owner)
        if session is None:
            await self._context.link.run(*owners)
        await self._apply(owner, key, shelf, ("HSET", shelf.key, key, encode_document(document)))
        if session is None and not shelf.owner_version:
            # Somebody may have erased the owner in between, who had none before.
            await self._context.link.run(*owners)
        return document

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; tell whether it was there and not expired."""
        shelf = await self._shelf(owner, session, key)
        stored = shelf.stored
        if expected_version is not None and (stored is None or stored.version != expected_version):
            raise _stale(key, stored, expected_version)
        if stored is None:
            return False
        await self._apply(owner, key, shelf, ("HDEL", shelf.key, key))
        return not is_expired(stored, shelf.now)

    async def _shelf(self, owner: str, session: str | None, key: str) -> _Shelf:
        if session is None:
            version, clock, now, (_, stored) = await self._owned(owner, key)
            # It begins with a time, so that versions from before an erasure are not used again.
            next_version = int(version or clock) + 1
            place, look, state = self._context.keys.owner(owner, "k:"), None, version.decode()
        else:
            look = await self._context.directory.look(owner, session)
            place = self._context.key(look.tree, f"k:{look.row.number}")
            stored = await self._context.link.run("HGET", place, key)
            now, next_version, state = look.now, look.version + 1, ""
        document = None if stored is None else document_of(key, stored)
        return _Shelf(place, int(now), document, next_version, look, state)

    async def _apply(self, owner: str, key: str, shelf: _Shelf, command: Command) -> None:
        context, look = self._context, shelf.look
        if look is not None:
            commands = [command]
            if key == PINS:
                commands.append(context.change(look, {"c": ""}))
            await context.apply(owner, look, commands, after_appends=True)
            return
        place = context.keys.owner(owner)
        begun = () if shelf.owner_version else (("HSET", place, "v", shelf.next_version - 1),)
        args = (shelf.owner_version, "*", context.new_id(), "", *flat([*begun, command]))
        if await context.link.ask("apply", [place], *args) != b"ok":
            raise MovedError(place)


def is_expired(document: Document, now: int) -> bool:
    """Tell whether a document is not to be found any more."""
    return document.expires_us is not None and document.expires_us <= now


def _check_version(key: str, stored: Document | None, expected: int | None, now: int) -> None:
    if expected is None:
        return
    if expected == 0 and (stored is None or is_expired(stored, now)):
        return
    if stored is None or stored.version != expected:
        raise _stale(key, stored, expected)


def _stale(key: str, stored: Document | None, expected: int) -> StaleVersionError:
    found = "not there" if stored is None else f"at version {stored.version}"
    return StaleVersionError(
        f"document {key!r} is {found}, not at version {expected}: read it again, then decide"
    )
