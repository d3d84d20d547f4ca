"""A store whose searches are answered from an index of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from ....errors import StoreError, StoreUnavailableError
from ....model import (
    ChangedOwners,
    Fence,
    Health,
    Hits,
    NewOverlay,
    NewSession,
    Overlay,
    OwnedSessionPage,
    Problem,
    Rewritten,
    Search,
    SessionQuery,
    SessionRecord,
)
from ....rules import check
from ....rules.search_cursor import is_place_of
from ....store._async.admin import AsyncStoreAdmin, Progress, Rewrite
from ....store._async.contract import AsyncStore
from ...base.refusals import store_closed
from ..entry import IndexGoneError
from ..matches import PLACES
from .checker import AsyncChecker
from .feeder import AsyncFeeder
from .index import AsyncSearchIndex
from .rewritten import AsyncNotedTexts
from .searcher import AsyncSearcher
from .source import AsyncSource, overlays_of

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

TRIES = 3


class PassedCall(Generic[P, R]):
    """A method that is the other store's own."""

    def __init__(self, call: Callable[Concatenate[AsyncStore, P], R]) -> None:
        self._name = call.__name__

        @wraps(call)
        async def passed(store: AsyncDelegatingStore, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await getattr(store._store, call.__name__)(*args, **kwargs)

        passed.__isabstractmethod__ = False  # type: ignore[attr-defined]
        self._on_class = passed
        """What the class shows: the contract's signature and text."""

    def __get__(self, store: AsyncDelegatingStore | None, kind: type) -> Callable[P, R]:
        found = self._on_class if store is None else getattr(store._store, self._name)
        return cast("Callable[P, R]", found)


class AsyncDelegatingStore(AsyncStore):
    """Passes every call on; whoever inherits from it changes a few."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self.capabilities = store.capabilities
        self.max_message_bytes = store.max_message_bytes

    @property
    def admin(self) -> AsyncStoreAdmin:
        """The calls about the store as a whole."""
        return self._store.admin

    create_session = PassedCall(AsyncStore.create_session)
    find_session = PassedCall(AsyncStore.find_session)
    update_session = PassedCall(AsyncStore.update_session)
    checkout = PassedCall(AsyncStore.checkout)
    list_sessions = PassedCall(AsyncStore.list_sessions)
    find_recent = PassedCall(AsyncStore.find_recent)
    delete_session = PassedCall(AsyncStore.delete_session)
    clear_session = PassedCall(AsyncStore.clear_session)
    append = PassedCall(AsyncStore.append)
    update_message = PassedCall(AsyncStore.update_message)
    delete_messages = PassedCall(AsyncStore.delete_messages)
    find_messages = PassedCall(AsyncStore.find_messages)
    find_parents = PassedCall(AsyncStore.find_parents)
    find_homes = PassedCall(AsyncStore.find_homes)
    list_messages = PassedCall(AsyncStore.list_messages)
    read = PassedCall(AsyncStore.read)
    list_children = PassedCall(AsyncStore.list_children)
    list_leaves = PassedCall(AsyncStore.list_leaves)
    list_gaps = PassedCall(AsyncStore.list_gaps)
    add_overlay = PassedCall(AsyncStore.add_overlay)
    list_overlays = PassedCall(AsyncStore.list_overlays)
    undo_overlay = PassedCall(AsyncStore.undo_overlay)
    read_data = PassedCall(AsyncStore.read_data)
    list_data = PassedCall(AsyncStore.list_data)
    erase_data = PassedCall(AsyncStore.erase_data)
    find_document = PassedCall(AsyncStore.find_document)
    put_document = PassedCall(AsyncStore.put_document)
    put_documents = PassedCall(AsyncStore.put_documents)
    renew_document = PassedCall(AsyncStore.renew_document)
    delete_document = PassedCall(AsyncStore.delete_document)
    delete_documents = PassedCall(AsyncStore.delete_documents)
    list_documents = PassedCall(AsyncStore.list_documents)
    search = PassedCall(AsyncStore.search)
    add_usage = PassedCall(AsyncStore.add_usage)
    total_usage = PassedCall(AsyncStore.total_usage)
    total_owner_usage = PassedCall(AsyncStore.total_owner_usage)
    statistics = PassedCall(AsyncStore.statistics)
    changes = PassedCall(AsyncStore.changes)
    feed_cursor = PassedCall(AsyncStore.feed_cursor)
    forget_reader = PassedCall(AsyncStore.forget_reader)
    finish_deletions = PassedCall(AsyncStore.finish_deletions)
    erase_owner = PassedCall(AsyncStore.erase_owner)
    aclose = PassedCall(AsyncStore.aclose)


class AsyncSearchedStore(AsyncDelegatingStore):
    """Any store, with a search index attached to it; closing it closes both.

    Writes go to the store alone, and go on when the index is gone. A search first brings the index
    up to date, and looks at every hit in the store. With `fallback`, the store itself searches
    while the index cannot be reached; without it, such a search is a `StoreUnavailableError`.
    """

    def __init__(
        self,
        store: AsyncStore,
        index: AsyncSearchIndex,
        *,
        fallback: bool = False,
        source: AsyncSource | None = None,
    ) -> None:
        super().__init__(store)
        self._index = index
        self._searcher = AsyncSearcher(store, index, source or AsyncSource(store))
        self._fallback = fallback
        # Whose summaries changed while the index could not be reached.
        self._unsummarised: set[tuple[str, str]] = set()
        self._is_closed = False

    @property
    def admin(self) -> AsyncStoreAdmin:
        """The calls about the store and its index as a whole."""
        return AsyncSearchedAdmin(self._store, self._index, self._searcher)

    async def create_session(self, owner: str, session: NewSession) -> SessionRecord:
        record = await self._store.create_session(owner, session)
        if session.fork is not None and await self._may_have_summaries(owner, session.id):
            await self._summarise(owner, session.id)
        return record

    async def add_overlay(
        self,
        owner: str,
        session: str,
        overlay: NewOverlay,
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Overlay:
        added = await self._store.add_overlay(owner, session, overlay, fence=fence)
        await self._summarise(owner, session)
        return added

    async def undo_overlay(
        self,
        owner: str,
        session: str,
        overlay: str,
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Overlay:
        undone = await self._store.undo_overlay(owner, session, overlay, fence=fence)
        await self._summarise(owner, session)
        return undone

    async def search(self, owner: str, search: Search) -> Hits:
        if self._is_closed:
            raise store_closed()
        check.search(search)
        goes_on = search.cursor is not None
        if goes_on and self._fallback and not is_place_of(PLACES, owner, search):
            # The store itself gave the page before.
            return await self._store.search(owner, search)
        try:
            if self._unsummarised:
                await self._summarise_rest()
            return await self._searcher.search(owner, search)
        except StoreError as error:
            if goes_on or not self._fallback:
                raise
            logger.warning("the store searches without its index: %s", error)
            return await self._store.search(owner, search)

    async def finish_deletions(self) -> None:
        await self._store.finish_deletions()
        await self._summarise_rest()
        await refresh(self._store, self._index, self._searcher.feeder, is_anew=False)

    async def erase_owner(self, owner: str) -> None:
        await self._store.erase_owner(owner)
        with suppress(IndexGoneError):
            await self._index.erase(owner)

    async def aclose(self) -> None:
        self._is_closed = True
        try:
            await self._store.aclose()
        finally:
            await self._index.aclose()

    async def _may_have_summaries(self, owner: str, session: str) -> bool:
        try:
            return bool(await overlays_of(self._store, owner, session))
        except StoreError:
            return True  # The session was made: that is what its caller is to hear.

    async def _summarise(self, owner: str, session: str) -> None:
        """Index a session's summaries, which no feed tells of; at the latest with a search."""
        self._unsummarised.add((owner, session))
        try:
            await self._summarise_rest()
        except StoreError as error:
            logger.warning("a summary is not in the search index yet: %s", error)

    async def _summarise_rest(self) -> None:
        for owner, session in list(self._unsummarised):
            # An index that is gone is filled with all there is when it is made anew.
            with suppress(IndexGoneError):
                await self._searcher.feeder.summarise(owner, [session])
            self._unsummarised.discard((owner, session))


async def refresh(
    store: AsyncStore, index: AsyncSearchIndex, feeder: AsyncFeeder, *, is_anew: bool
) -> None:
    """Bring each owner's part of an index up to date, or anew, and remove those who are gone."""
    for _ in range(TRIES):
        try:
            owners = await store.admin.list_owners()
            for owner in owners:
                if is_anew:
                    await feeder.build(owner, await index.find_mark(owner))
                await feeder.catch_up(owner)
                await feeder.note(owner)
            for owner in await index.list_owners():
                if owner not in owners:
                    await index.erase(owner)
        except IndexGoneError:
            continue
        return
    raise StoreUnavailableError("the search index is removed again and again: try again")


class AsyncSearchedAdmin(AsyncStoreAdmin):
    """The calls about a store and its index as a whole."""

    def __init__(self, store: AsyncStore, index: AsyncSearchIndex, searcher: AsyncSearcher) -> None:
        self._store = store
        self._index = index
        self._searcher = searcher

    async def health(self) -> Health:
        return await self._store.admin.health()

    async def schema_version(self) -> int:
        return await self._store.admin.schema_version()

    async def migrate(self) -> int:
        version = await self._store.admin.migrate()
        await self._index.make_ready()
        return version

    async def check(self) -> list[Problem]:
        return [
            *await self._store.admin.check(),
            *await AsyncChecker(self._store, self._index).check(),
        ]

    async def repair(self) -> list[Problem]:
        left = await self._store.admin.repair()
        await refresh(self._store, self._index, self._searcher.feeder, is_anew=True)
        return [*left, *await AsyncChecker(self._store, self._index).check()]

    async def backup(
        self, path: str | Path, *, replace: bool = False, progress: Progress | None = None
    ) -> None:
        await self._store.admin.backup(path, replace=replace, progress=progress)

    async def list_owners(self) -> list[str]:
        return await self._store.admin.list_owners()

    async def changed_owners(self, after: str = "", limit: int = 500) -> ChangedOwners:
        return await self._store.admin.changed_owners(after, limit)

    async def rewrite(
        self, owner: str, function: Rewrite, *, after: str = "", limit: int = 1_000
    ) -> Rewritten:
        """Rewrite, and index anew what says something else then, as no feed tells of it.

        When that cannot be done, it is logged: a repair does it.
        """
        check.function(function, "function")
        noted = AsyncNotedTexts(function)
        try:
            return await self._store.admin.rewrite(owner, noted.made, after=after, limit=limit)
        finally:
            try:
                await self._searcher.feeder.renew(owner, noted.messages, noted.overlays)
            except (StoreError, IndexGoneError) as error:
                logger.warning("what was rewritten is not in the search index yet: %s", error)

    async def list_sessions(self, query: SessionQuery) -> OwnedSessionPage:
        return await self._store.admin.list_sessions(query)
