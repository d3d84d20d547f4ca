"""The sessions of one owner in one store: what `open` gives."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from typing import TYPE_CHECKING, Literal, Self, Unpack

from msgspec.structs import replace

from ...calls import AsyncCall
from ...errors import AlreadyExistsError, NotFoundError, UsageError
from ...event_loop import AsyncEntering
from ...model import (
    CHAT,
    Hits,
    NewSession,
    Search,
    SessionPage,
    SessionQuery,
    SessionRecord,
    Statistics,
    UsageTotal,
)
from ...rules import check
from ...rules.ids import check_name
from ...rules.tokens import TokenCounter
from ...rules.wording import did_you_mean
from ...store._async.contract import AsyncStore
from ...store._async.reading import look_into
from ..references import PlaceRef
from ..settings import (
    NewSessionFields,
    SessionFilters,
    SettingFields,
    Setup,
    new_session_fields,
    refuse_unknown,
    settings_of,
)
from .lifecycle_methods import AsyncLifecycleMethods
from .session import AsyncSession
from .upkeep_methods import AsyncUpkeepMethods

if TYPE_CHECKING:
    from ...lifecycle._async.lifecycle import AsyncLifecycle
    from ...lifecycle.background import AsyncBackground

TRIES = 10
NEAREST_OF = 1_000


@AsyncCall.reminding
class AsyncSessionManager(AsyncUpkeepMethods, AsyncLifecycleMethods, AsyncEntering):
    """The sessions of one owner. A context manager: leaving it closes the store.

    One that `for_owner` gave closes nothing.

    What is set here holds for every session that it gives from then on.
    """

    _opened_by = "sapwood.open"

    def __init__(
        self,
        store: AsyncStore,
        *,
        owner: str = "default",
        new_id: Callable[[], str] | None = None,
        token_counter: TokenCounter | None = None,
        random: Callable[[], float] | None = None,
        **settings: Unpack[SettingFields],
    ) -> None:
        check_name(owner, "owner")
        self._store = store
        self._owner = owner
        self._new_id = new_id
        self._random = random
        self._running: list[AsyncBackground] = []
        self._is_owners_only = False
        known = settings_of(settings, ("owner", "new_id", "token_counter", "random"))
        self._setup = Setup(known, token_counter, new_id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._owner!r}>"

    @property
    def store(self) -> AsyncStore:
        """The store: for documents, usage, changes and the admin calls."""
        AsyncCall.warn_on_loop()
        return self._store

    @property
    def owner(self) -> str:
        """Whom the sessions belong to."""
        return self._owner

    def for_owner(self, owner: str) -> Self:
        """Return the manager of another owner's sessions, on the same store and set up alike.

        It costs nothing, and is made for each request; closing it closes nothing.
        """
        check_name(owner, "owner")
        other = copy(self)
        other._owner = owner
        other._is_owners_only = True
        other._setup = copy(self._setup)
        return other

    async def session(
        self,
        id: str,
        *,
        lazy: bool = False,
        roles: Collection[str] = (),
        **fields: Unpack[NewSessionFields],
    ) -> AsyncSession:
        """Get a session, or create it at once; the fields are for a new one only.

        `roles` are those that messages may have beside the usual ones; they are not stored.

        A `lazy` one is not looked for. Where it is not there, its first message, usage or block
        creates it, or the first change of its record; reading messages before that is
        `NotFoundError`.
        """
        known = new_session_fields(fields, ("lazy", "roles"))  # also when they are not needed
        if lazy:
            new = NewSession(id=id, **known)
            check.new_session(new)
            return self._hold(id, new, roles=roles)
        for _ in range(TRIES):
            found = await self.find(id)
            if found is not None:
                return found.with_roles(roles) if roles else found
            try:
                return await self.create(id, roles=roles, **fields)
            except AlreadyExistsError:
                # Another process was faster: read again.
                continue
        raise AlreadyExistsError(f"session {id!r} is created and deleted by others all the time")

    async def create(
        self,
        id: str | None = None,
        *,
        roles: Collection[str] = (),
        **fields: Unpack[NewSessionFields],
    ) -> AsyncSession:
        """Create a session; without an id it gets one. `AlreadyExistsError` when it is taken."""
        known = new_session_fields(fields, ("roles",))
        if id is None:
            if self._new_id is None:
                raise UsageError("a manager without new_id needs the session's id", path="id")
            id = self._new_id()
        new = NewSession(id=id, **known)
        record = await self.store.create_session(self._owner, new)
        return self._hold(record.id, roles=roles)

    async def get(self, id: str) -> AsyncSession:
        """Return a session, or raise `NotFoundError`."""
        session = await self.find(id)
        if session is None:
            known = await self.store.list_sessions(self._owner, SessionQuery(limit=NEAREST_OF))
            advice = did_you_mean(id, [record.id for record in known.sessions])
            advice = advice or f": create it with session({id!r})"
            raise NotFoundError(
                f"{self._owner!r} has no session {id!r}{advice}",
                kind="session",
                id=id,
            )
        return session

    async def find(self, id: str) -> AsyncSession | None:
        """Return a session, or None when there is none."""
        record = await self.store.find_session(self._owner, id)
        return None if record is None else self._hold(record.id)

    async def find_homes(self, message: str) -> list[str]:
        """Find the sessions that wrote a message of this id, in the order of their names.

        Each of the owner's sessions is looked into.
        """
        return await self.store.find_homes(self._owner, message)

    async def list_sessions(
        self,
        *,
        previews: bool = False,
        unread_for: str | None = None,
        **filters: Unpack[SessionFilters],
    ) -> SessionPage:
        """List the records of sessions, the last active first, a page at a time.

        With `previews`, each has its last message in a few words; with `unread_for`, how many
        messages that user has not read. No history is read for them.
        """
        refuse_unknown(filters, SessionFilters)
        if unread_for is not None:
            check_name(unread_for, "unread_for")
        page = await self.store.list_sessions(self._owner, SessionQuery(**filters))
        if not previews and unread_for is None:
            return page
        asked = (self.store, self._owner, page)
        return await look_into(*asked, previews=previews, unread_for=unread_for)

    async def rename(self, id: str, title: str | None) -> SessionRecord:
        """Give a session the user's own title, or None.

        It is cleaned of what cannot be seen. `AlreadyExistsError` when another session has it.
        """
        return await self._lifecycle().titles.set(id, title, "user")

    async def fork(
        self,
        id: str,
        message: PlaceRef | None = None,
        *,
        new_id: str | None = None,
        title: str | None = None,
        detach: bool = False,
    ) -> AsyncSession:
        """Make a session that goes on from a message of another, or from its tip."""
        session = await self.get(id)
        return await session.fork(new_id, message, title=title, detach=detach)

    async def search(
        self,
        query: str,
        *,
        session: str | None = None,
        kind: str | None = CHAT,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Hits:
        """Find messages and summaries in all sessions, or in what one sees, the best first.

        All are those of the kind "chat", unless another is given; None is for all kinds.
        """
        search = Search(text=query, session=session, kind=kind, limit=limit, cursor=cursor)
        return await self.store.search(self._owner, search)

    async def usage(
        self, session: str | None = None, *, by: Literal["model", "message"] = "model"
    ) -> list[UsageTotal]:
        """Sum what the model calls of a session cost, or by model those of all sessions."""
        if session is not None:
            return await self.store.total_usage(self._owner, session, by=by)
        check.usage_by(by)
        if by == "message":
            raise UsageError("by='message' needs a session: give its id", path="by")
        return await self.store.total_owner_usage(self._owner)

    async def statistics(self) -> Statistics:
        """Count what the owner has: sessions, messages, overlays, documents."""
        return await self.store.statistics(self._owner)

    async def delete(self, id: str, *, expected_version: int | None = None) -> bool:
        """Delete a session with all that belongs to it: blocks, prompt, usage, index entries.

        What its forks stand on stays with them. `StaleVersionError` when its record was changed
        since the expected version. Hooks on its end are called first; when one fails, False is
        returned, and the session goes when that has succeeded.
        """
        return await self._lifecycle().delete(id, expected_version=expected_version)

    async def finish_deletions(self) -> None:
        """Finish what deletions left to be done; after it, erased bytes are gone from the files."""
        await self.store.finish_deletions()

    async def aclose(self) -> None:
        """Close the store; closing it again does nothing."""
        if self._is_owners_only:
            return
        if self._running:
            await self.stop()
        await self._store.aclose()

    async def __aenter__(self) -> Self:
        """Return the manager itself."""
        return self

    async def __aexit__(self, *details: object) -> None:
        """Close the store."""
        await self.aclose()

    def _lifecycle(self, owner: str | None = None) -> AsyncLifecycle:
        from ...lifecycle._async.lifecycle import AsyncLifecycle

        settings = self._setup.settings
        return AsyncLifecycle(
            self.store,
            self._owner if owner is None else owner,
            new_id=self._new_id,
            random=self._random or _longest,
            hooks=settings.hooks,
            isolation=settings.isolation,
        )

    def _beside(self) -> AsyncBackground:
        # The list is that of all managers that `for_owner` gave.
        if not self._running:
            from ...lifecycle.background import AsyncBackground

            self._running.append(AsyncBackground())
        return self._running[0]

    def _held(self, record: SessionRecord) -> AsyncSession:
        return self._hold(record.id)

    def _hold(
        self, id: str, lazy: NewSession | None = None, roles: Collection[str] = ()
    ) -> AsyncSession:
        settings = self._setup.settings
        if any(hook.occasion == "compaction" for hook in settings.hooks):
            listener = self._lifecycle().compactions
            settings = replace(settings, listeners=(*settings.listeners, listener))
        session = AsyncSession(
            self._store,
            self._owner,
            id,
            new_id=self._new_id,
            token_counter=self._setup.counter,
            settings=settings,
            lazy=lazy,
        )
        return session.with_roles(roles) if roles else session


def _longest() -> float:
    """Return what stands for chance where none was given."""
    return 1.0
