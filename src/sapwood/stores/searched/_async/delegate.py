"""A store that passes every call on to another."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from ....store._async.admin import AsyncStoreAdmin
from ....store._async.contract import AsyncStore

P = ParamSpec("P")
R = TypeVar("R")


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
    delete_session = PassedCall(AsyncStore.delete_session)
    clear_session = PassedCall(AsyncStore.clear_session)
    append = PassedCall(AsyncStore.append)
    update_message = PassedCall(AsyncStore.update_message)
    delete_messages = PassedCall(AsyncStore.delete_messages)
    find_messages = PassedCall(AsyncStore.find_messages)
    read = PassedCall(AsyncStore.read)
    list_children = PassedCall(AsyncStore.list_children)
    list_leaves = PassedCall(AsyncStore.list_leaves)
    list_gaps = PassedCall(AsyncStore.list_gaps)
    add_overlay = PassedCall(AsyncStore.add_overlay)
    list_overlays = PassedCall(AsyncStore.list_overlays)
    undo_overlay = PassedCall(AsyncStore.undo_overlay)
    find_document = PassedCall(AsyncStore.find_document)
    put_document = PassedCall(AsyncStore.put_document)
    delete_document = PassedCall(AsyncStore.delete_document)
    list_documents = PassedCall(AsyncStore.list_documents)
    search = PassedCall(AsyncStore.search)
    add_usage = PassedCall(AsyncStore.add_usage)
    total_usage = PassedCall(AsyncStore.total_usage)
    total_owner_usage = PassedCall(AsyncStore.total_owner_usage)
    statistics = PassedCall(AsyncStore.statistics)
    changes = PassedCall(AsyncStore.changes)
    finish_deletions = PassedCall(AsyncStore.finish_deletions)
    erase_owner = PassedCall(AsyncStore.erase_owner)
    aclose = PassedCall(AsyncStore.aclose)
