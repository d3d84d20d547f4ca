"""All that one owner's sessions go through: the parts, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ...errors import NotFoundError, StaleVersionError, UsageError
from ...model import (
    ROOT,
    Edge,
    EdgeKind,
    ForkPoint,
    Isolation,
    LifecycleHook,
    NewSession,
    Root,
    SessionKey,
    SessionRecord,
)
from ...session._async.stored_session import AsyncStoredSession
from ...session._async.turn_lookup import find_turn
from ...session.settings import DEFAULTS, Setup
from ...store._async.contract import AsyncStore
from ..report import FoundTurn
from ..route import SeenRoute, key_of
from .closings import AsyncClosings
from .compactions import AsyncCompactionHooks
from .endings import AsyncEndings
from .hook_calls import AsyncHookCalls
from .lineage import AsyncLineage
from .lookup import AsyncLookup
from .routes import AsyncRoutes
from .states import AsyncStates
from .switches import AsyncSwitches, Prepare, nothing_current
from .titles import AsyncTitles


class AsyncLifecycle:
    """The lifecycle of one owner's sessions. It holds nothing that the store does not."""

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        *,
        new_id: Callable[[], str] | None,
        random: Callable[[], float],
        hooks: Sequence[LifecycleHook] = (),
        isolation: Isolation = Isolation(),  # noqa: B008 - it is frozen
    ) -> None:
        self._new_id = new_id
        self._isolation = isolation
        self.closings = AsyncClosings(store, owner)
        self.hooks = AsyncHookCalls(store, owner, hooks)
        self.compactions = AsyncCompactionHooks(self.closings, self.hooks)
        self.endings = AsyncEndings(self.closings, self.hooks, self.compactions)
        self.routes = AsyncRoutes(self.closings, self.endings, self.hooks)
        self.states = AsyncStates(self.closings, self.endings, self.routes)
        self.lineage = AsyncLineage(self.closings)
        self.titles = AsyncTitles(self.closings, self.lineage, random)
        self.switches = AsyncSwitches(self.closings, self.endings, self.routes, self.titles, random)
        self.lookup = AsyncLookup(self.closings, self.titles)

    def key(self, key: SessionKey | str) -> SessionKey:
        """Return the key under which a session is kept: with the isolation that is set."""
        if isinstance(key, str):
            key = SessionKey.parse(key)
        if not isinstance(key, SessionKey):
            raise UsageError(f"a key must be a SessionKey or printed so, not {key!r}", path="key")
        return self._isolation.reduce(key)

    async def get_or_create(self, key: SessionKey, new: NewSession) -> SessionRecord:
        """Return the current session of a key; where there is none, one is begun."""

        def plan(seen: SeenRoute) -> NewSession | None:
            return self._named(new) if seen.open is None else None

        return await self.switches.begin(key, "switch", plan)

    async def current(self, key: SessionKey) -> SessionRecord | None:
        """Find the current session of a key."""
        return (await self.routes.read(key)).open

    async def find_turn(self, key: SessionKey, turn: str) -> FoundTurn | None:
        """Find a turn by its id in the current session of a key, and in those that it left."""
        seen = await self.routes.read(key)
        names = [seen.route.session, *(it.session for it in reversed(seen.route.left))]
        setup = Setup(DEFAULTS, None, None)
        for name in dict.fromkeys(it for it in names if it is not None):
            stored = AsyncStoredSession(
                self.closings.store, self.closings.owner, name, setup, lazy=None
            )
            try:
                found = await find_turn(stored, turn)
            except NotFoundError:
                continue  # a route remembers sessions that were deleted since
            if found is not None:
                return FoundTurn(session=name, turn=found)
        return None

    async def new(self, key: SessionKey, new: NewSession) -> SessionRecord:
        """Begin another session at a key, which has nothing of the one before."""
        return await self.switches.begin(key, "new", lambda seen: self._named(new))

    async def reset(self, key: SessionKey, *, keep_history: bool) -> SessionRecord:
        """Begin anew with the blocks, the prompt and the settings of the current session."""
        if keep_history:
            return await self.switches.carry_on(key, "reset", EdgeKind.RESET, self._named())

        def plan(seen: SeenRoute) -> NewSession:
            if seen.current is None:
                return self._named()
            source = seen.current.id
            return replace(
                self._named(),
                parent=Edge(kind=EdgeKind.RESET, session=source),
                fork=ForkPoint(session=source, message=ROOT, detach=True),
            )

        return await self.switches.begin(key, "reset", plan)

    async def branch(
        self, key: SessionKey, message: str | Root | None, title: str | None
    ) -> SessionRecord:
        """Go on in a fork of the current session, at its tip or at a message."""
        source = await self.current(key)
        if source is None:
            raise nothing_current(key)
        new = replace(self._named(), title=title)
        if message is None:
            branched = await self.switches.carry_on(key, "switch", EdgeKind.BRANCH, new)
        else:
            branched = await self.switches.branch(key, "switch", message, new)
        return await self._numbered(branched, source.title)

    async def compact_and_split(self, key: SessionKey, prepare: Prepare) -> SessionRecord:
        """Go on in a fork of the current session, which is prepared before."""
        source = await self.current(key)
        split = await self.switches.carry_on(
            key, "compaction", EdgeKind.CONTINUE, self._named(), prepare
        )
        return await self._numbered(split, None if source is None else source.title)

    async def resume(self, key: SessionKey, what: str | int) -> SessionRecord:
        """Let a session be current that is named by a person; of a chain, its end."""
        found = await self.lookup.resolve(key, what)
        record = await self.lineage.end_of_chain(found)
        return await self.switches.take(key, record.id)

    async def reopen(self, session: str) -> SessionRecord:
        """Open a session again; one that has a key is current there."""
        while True:
            record = await self.endings.at_rest(session)
            key = key_of(record)
            if key is not None:
                return await self.switches.take(key, session)
            try:
                return await self.closings.take(record, None, await self.closings.now_us())
            except StaleVersionError:
                continue

    async def delete(self, session: str, *, expected_version: int | None = None) -> bool:
        """Delete a session and its title; return whether it is gone, or waits for a hook."""
        record = await self.closings.find(session)
        if record is None:
            raise NotFoundError(f"there is no session {session!r}", kind="session", id=session)
        is_plain = key_of(record) is None and not record.closed and not self.hooks.on("end")
        if is_plain:
            await self.closings.store.delete_session(
                self.closings.owner, session, expected_version=expected_version
            )
        elif not await self.states.delete(session, expected_version=expected_version):
            return False
        await self.titles.release(record)
        return True

    async def _numbered(self, record: SessionRecord, title: str | None) -> SessionRecord:
        """Give a session without a title the next one in the lineage of what it came out of."""
        if title is None or record.title is not None:
            return record
        following = await self.titles.next_title(title)
        return await self.titles.set(record.id, following, "model")

    def _named(self, new: NewSession | None = None) -> NewSession:
        """Give a new session an id of its own, also when it is tried again."""
        if self._new_id is None:
            raise UsageError("a manager without new_id begins no session: use open", path="new_id")
        id = self._new_id()
        return NewSession(id=id) if new is None else replace(new, id=id)
