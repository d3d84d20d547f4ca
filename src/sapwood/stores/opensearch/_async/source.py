"""What the search index is filled from: the records beside it, many sessions at once."""

from __future__ import annotations

from ....errors import StoreCorruptError
from ....store._async.contract import AsyncStore
from ...base._async.per_loop import AsyncPerLoopRunner
from ...recordlog._async.runner import AsyncLogRunner
from ...searched._async.source import AsyncSource, SourceContent, Standpoint, WantedEntries


class AsyncRecordSource(AsyncSource):
    """Asks the record log, whose states were brought up to date when its feed was followed."""

    def __init__(self, store: AsyncStore, runner: AsyncPerLoopRunner[AsyncLogRunner]) -> None:
        super().__init__(store)
        self._runner = runner

    async def end_of_feed(self, owner: str) -> str:
        """Return a cursor behind all changes, without reading them."""
        unit = await self._runner.here().ready_unit()
        return await unit.feed.end(owner)

    async def standpoint(self, owner: str, session: str) -> Standpoint:
        """Get a session as it is remembered."""
        unit = await self._runner.here().ready_unit()
        return Standpoint(*await unit.index_reads.standpoint(owner, session))

    async def look(
        self, owner: str, wanted: WantedEntries, *, as_followed: bool = False
    ) -> dict[str, SourceContent]:
        """Look at all sessions at once; one by one where something cannot be decoded."""
        unit = await self._runner.here().ready_unit()
        try:
            found = await unit.index_reads.look(owner, wanted, as_followed)
        except StoreCorruptError:
            return await super().look(owner, wanted)
        return {session: SourceContent(*it) for session, it in found.items()}
