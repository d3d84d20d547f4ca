"""A session's compactions: previewed, listed and taken back; and a summary of all that was said."""

from __future__ import annotations

from ...errors import CompactionError, NotFoundError
from ...model import CompactionNote, CompactionPreview, Overlay, Read
from ..builder import Setup
from ..compact_function import function_of, request_for, without_protection
from ..compactor_state import MARK, note_of
from ..references import PlaceRef, id_of
from .compactor import AsyncCompactor
from .compactor_document import AsyncCompactorDocument
from .overlays import AsyncOverlayWriter
from .stored_session import AsyncStoredSession


class AsyncCompactions:
    """Knows the compactions of one session, those to come and those of the past."""

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        overlays: AsyncOverlayWriter,
        document: AsyncCompactorDocument,
        compactor: AsyncCompactor,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._overlays = overlays
        self._document = document
        self._compactor = compactor

    async def preview(self, leaf: PlaceRef | None, focus: str | None) -> CompactionPreview | None:
        """Return what a compaction would cover; None when that is nothing, or is not known."""
        from ...compaction import CompactFunction

        function = function_of(self._setup.settings)
        if not isinstance(function, CompactFunction):
            return None
        history = await self._stored.read(Read(leaf=id_of(leaf)))
        plan = function.plan(request_for(history, focus))
        if plan is None:
            return None
        entries = history.entries[plan.range.first : plan.range.last + 1]
        return CompactionPreview(
            entries=entries,
            tokens=sum(entry.tokens for entry in entries),
            target_tokens=plan.target_tokens,
            prompt=plan.prompt,
        )

    async def notes(self) -> list[CompactionNote]:
        """List the compactions of the past, the oldest first, those taken back too."""
        in_force = [note_of(overlay) for overlay in await self._in_force()]
        undone = (await self._document.load()).undone
        return sorted([*in_force, *undone], key=lambda note: note.created_us)

    async def undo_last(self) -> Overlay:
        """Take the last compaction back that is in force."""
        made = await self._in_force()
        if not made:
            raise NotFoundError(
                f"session {self._stored.id!r} has no compaction to undo", kind="compaction", id=""
            )
        return await self._overlays.undo(made[-1])

    async def _in_force(self) -> list[Overlay]:
        return [overlay for overlay in await self._overlays.in_force() if MARK in overlay.metadata]

    async def cover_all(self, summary: str | None, focus: str | None) -> None:
        """Cover everything: by a summary that is given, or as much as may be covered by one."""
        if summary is None:
            function = without_protection(function_of(self._setup.settings))
            outcome = await self._compactor.compact("split", focus=focus, function=function)
            if outcome.status == "refused":
                raise CompactionError(f"there is no summary to go on with: {outcome.reason}")
            return
        history = await self._stored.read(Read())
        if history.entries:
            metadata = {MARK: {"strategy": "given", "trigger": "split"}}
            first, last = history.entries[0], history.entries[-1]
            await self._overlays.add(first, last, summary, history=history, metadata=metadata)
