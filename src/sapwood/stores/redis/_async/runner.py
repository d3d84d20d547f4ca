"""Carrying out units of work: each looks, decides and applies, again if something had changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ....calls import AsyncAnswer
from ....errors import StoreBusyError, StoreCorruptError
from ....model import Appended
from ...base._async.runner import AsyncRunner
from ...base.append_request import Request
from ...base.appends import AsyncAppends
from ...base.extras import NO_EXTRAS
from ...base.queues import AsyncCallerQueues
from ...base.refusals import in_doubt
from ..rows import RedisKeys
from .admin import AsyncRedisAdmin
from .appends import append_new, append_together
from .client import AsyncRedisClient
from .context import AsyncRedisContext, MovedError
from .data import AsyncRedisData
from .deletion import DUE_AT_ONCE, delete_expired
from .documents import AsyncRedisDocuments
from .extras import is_without_look
from .feed import AsyncRedisFeed, trim_feed
from .maintenance import finish_deletions_of
from .messages import AsyncRedisMessages
from .overlays import AsyncRedisOverlays
from .rewriting import AsyncRedisRewriting
from .search import AsyncRedisSearch
from .sessions import AsyncRedisSessions
from .usage import AsyncRedisUsage

T = TypeVar("T")

TRIES = 100
LONGEST_PAUSE_S = 0.02


class AsyncRedisUnit:
    """All that can be done in one unit of work, by subject."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self.sessions = AsyncRedisSessions(context)
        self.messages = AsyncRedisMessages(context)
        self.data = AsyncRedisData(context)
        self.overlays = AsyncRedisOverlays(context)
        self.documents = AsyncRedisDocuments(context)
        self.rewriting = AsyncRedisRewriting(context)
        self.usage = AsyncRedisUsage(context)
        self.feed = AsyncRedisFeed(context)
        self.search = AsyncRedisSearch(context)
        self.admin = AsyncRedisAdmin(context)


class AsyncRedisRunner(AsyncRunner):
    """Units of work on one server or a cluster, for any number of callers."""

    def __init__(
        self,
        client: AsyncRedisClient,
        *,
        keys: RedisKeys,
        clock: Callable[[], int] | None,
        new_id: Callable[[], str],
        auto_migrate: bool,
        ttl_us: int | None,
        max_message_bytes: int,
    ) -> None:
        self._client = client
        self._max_message_bytes = max_message_bytes
        self._context = AsyncRedisContext(client, keys, clock=clock, new_id=new_id, ttl_us=ttl_us)
        self._unit = AsyncRedisUnit(self._context)
        self._auto_migrate = auto_migrate
        self._appends = AsyncAppends(self._append_all)
        self._queues = AsyncCallerQueues()
        self._is_ready = False

    async def write(self, work: Callable[[AsyncRedisUnit], AsyncAnswer[T]]) -> T:
        """Run work until nothing changes between its look and its writes."""
        if not self._is_ready:
            await self._make_ready()
        turn = ""
        for tried in range(TRIES):
            try:
                if not turn:
                    return await work(self._unit)
                async with self._queues.of(turn):
                    return await work(self._unit)
            except MovedError as moved:
                turn = moved.where
                await self._queues.pause(min(0.0005 * tried, LONGEST_PAUSE_S))
        raise StoreBusyError("others changed the session again and again meanwhile: try again")

    read = write

    async def append(self, request: Request) -> Appended:
        """Append with one script; what is known already, or wrong, takes a few calls more."""
        if not self._is_ready:
            await self._make_ready()
        batch = request.batch
        is_plain = request.extras is NO_EXTRAS and request.expected_snapshot is None
        may_be_new = len(batch) == 1 or len({it.id for it in batch}) == len(batch)
        with in_doubt(batch):
            appended = await self._appends.add(request) if may_be_new and is_plain else None
            if appended is None:
                appended = await self._queues.to_the_end(
                    lambda: self._append_alone(request, may_be_new)
                )
        return appended

    async def _append_alone(self, request: Request, may_be_new: bool) -> Appended:
        """Append what does not go with others, or has to be planned."""
        is_quick = is_without_look(request.extras) and request.expected_snapshot is None
        if may_be_new and is_quick:
            appended = await append_new(self._context, request)
            if appended is not None:
                return appended
        return await self.write(lambda unit: unit.messages.append(request))

    async def _append_all(self, requests: Sequence[Request]) -> Sequence[Appended | None]:
        """Append for several callers in one go."""
        if len(requests) == 1:
            return [await append_new(self._context, requests[0])]
        return await append_together(self._context, requests)

    async def finish_deletions(self) -> None:
        """Delete what has expired, sweep, publish all changes, trim the feeds."""
        if not self._is_ready:
            await self._make_ready()
        damage: StoreCorruptError | None = None
        for name in await self._client.run("SMEMBERS", self._context.keys.owners):
            try:
                await self._settle_owner(name.decode())
            except StoreCorruptError as error:
                # What one owner has that is damaged is in no other's way.
                damage = damage or error
        if damage is not None:
            raise damage

    async def _settle_owner(self, owner: str) -> None:
        await self._delete_expired(owner)
        await finish_deletions_of(self._context, owner)
        # When a session expires that was appended to, its owner knows since just now.
        if await self._delete_expired(owner):
            await finish_deletions_of(self._context, owner)
        await trim_feed(self._context, owner)

    async def _delete_expired(self, owner: str) -> int:
        """Delete what has expired; others may write to the same trees meanwhile."""
        all = 0
        while True:
            some = await self.write(lambda _: delete_expired(self._context, owner))
            all += some
            if some < DUE_AT_ONCE:
                return all

    async def repair(self) -> None:
        await self.write(lambda unit: unit.admin.repair())

    async def migrate(self) -> int:
        return await self._unit.admin.migrate()

    async def _make_ready(self) -> None:
        await self._unit.admin.make_ready(
            may_migrate=self._auto_migrate, most_bytes=self._max_message_bytes
        )
        self._is_ready = True

    async def aclose(self) -> None:
        await self._client.aclose()
