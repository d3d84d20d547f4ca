"""Entries that are kept in the store: written by key, searched, and loaded."""

from __future__ import annotations

import msgspec

from ...rules import check
from ...rules.ids import MAX_KEY_BYTES, check_name
from ...rules.query import parse
from ...rules.wording import counted
from ...store._async.contract import AsyncStore
from ..config import BlockScope
from ..document_keys import check_scope, document_keys_of
from ..entry import BlockEntry, StoredEntry, entry_in, find_entries, show_found


class AsyncStoreEntries:
    """Entries of the owner, of an agent of the owner, or of a session, each a document.

    They are searched with the language in which messages are searched; what is found is shown
    with its key, by which the whole of it can be loaded.
    """

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        label: str,
        *,
        session: str | None = None,
        scope: BlockScope = "owner",
        agent: str | None = None,
    ) -> None:
        check_name(owner, "owner")
        check_name(label, "label")
        check_scope(scope, agent, label)
        self._store = store
        self._owner = owner
        self._place = document_keys_of(scope, session, agent)
        self._prefix = self._place.entries(label)

    async def get(self) -> str | None:
        """Return how many entries there are; nothing when there are none."""
        number = len(await self.entries())
        return f"{counted(number, 'entry', 'entries')}." if number else None

    async def search(self, query: str) -> str | None:
        """Show the entries that a query finds, the best first."""
        parsed = parse(query)
        return show_found(find_entries(await self.entries(), parsed), parsed)

    async def load(self, key: str) -> str | None:
        """Return an entry's text, or None."""
        name = self._prefix + key
        if not key or len(name.encode()) > MAX_KEY_BYTES:
            return None
        document = await self._store.find_document(self._owner, name, session=self._place.session)
        return None if document is None else entry_in(document, self._prefix).content

    async def set(self, key: str, content: str, description: str | None = None) -> None:
        """Write an entry, over what had this key before."""
        await self.put(key, content, description)

    async def put(
        self,
        key: str,
        content: str,
        description: str | None = None,
        *,
        origin: str = "user",
        by: str | None = None,
    ) -> None:
        """Write an entry, and who wrote it in which session."""
        check.name(key, "key")
        check.name(origin, "origin")
        check.text(content, "content")
        if description is not None:
            check.text(description, "description")
        entry = StoredEntry(content=content, description=description, origin=origin, by=by)
        await self._store.put_document(
            self._owner,
            self._prefix + key,
            msgspec.json.encode(entry),
            session=self._place.session,
        )

    async def delete(self, key: str) -> bool:
        """Delete an entry; return whether it was there."""
        check.name(key, "key")
        return await self._store.delete_document(
            self._owner, self._prefix + key, session=self._place.session
        )

    async def entries(self) -> list[BlockEntry]:
        """Return all entries, by key."""
        documents = await self._store.list_documents(
            self._owner, self._prefix, session=self._place.session
        )
        return [entry_in(document, self._prefix) for document in documents]
