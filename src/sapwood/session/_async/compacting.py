"""Compaction, as it is asked for: made, previewed, listed and taken back."""

from __future__ import annotations

import msgspec

from ...errors import CompactionError, NotFoundError
from ...model import Compaction, CompactionNote, CompactionPreview, Overlay
from ..compactor_state import MARK, note_of, with_undone
from ..naming import OverlayRef, Place
from ..settings import CompactWith
from .compactor import AsyncCompactor


class AsyncCompacting(AsyncCompactor):
    """The part of a session that is compacted on request."""

    async def compact(self, *, leaf: Place | None = None, focus: str | None = None) -> Compaction:
        """Cover the middle of the history at the tip, or at `leaf`, by a summary.

        Nothing is deleted, and `undo_compaction` takes it back. Refused, with a reason, when there
        is nothing to cover, it would not shrink the context, or another compaction is at work.
        `CompactionError` when the summary could not be made. Either way everything is as it was.
        The frozen prompt is rendered anew.
        """
        return await self._compact(leaf, focus, "asked", self._function())

    async def _begin_with_summary(self, summary: str | None, focus: str | None) -> None:
        """Cover everything: by a summary that is given, or as much as may be covered by one."""
        if summary is None:
            outcome = await self._compact(None, focus, "split", self._tight_function())
            if outcome.status == "refused":
                raise CompactionError(f"there is no summary to go on with: {outcome.reason}")
            return
        history = await self._visible(None)
        if history.entries:
            metadata = {MARK: {"strategy": "given", "trigger": "split"}}
            await self.add_overlay(
                history.entries[0],
                history.entries[-1],
                summary,
                history=history,
                metadata=metadata,
            )

    def _tight_function(self) -> CompactWith:
        """Give the function that makes the summaries, without anything that it protects."""
        from ...compaction import CompactFunction

        function = self._function()
        if not isinstance(function, CompactFunction):
            return function
        return msgspec.structs.replace(
            function, protect_head=0, tail_token_budget=0, min_tail_messages=0
        )

    async def preview_compaction(
        self, *, leaf: Place | None = None, focus: str | None = None
    ) -> CompactionPreview | None:
        """Tell what `compact` would cover; None when there is nothing to cover.

        Also None when a function of your own decides it.
        """
        from ...compaction import CompactFunction

        function = self._function()
        if not isinstance(function, CompactFunction):
            return None
        history = await self._visible(leaf)
        plan = function.plan(self._request(history, focus))
        if plan is None:
            return None
        entries = history.entries[plan.range.first : plan.range.last + 1]
        return CompactionPreview(
            entries=entries,
            tokens=sum(entry.tokens for entry in entries),
            target_tokens=plan.target_tokens,
            prompt=plan.prompt,
        )

    async def compactions(self) -> list[CompactionNote]:
        """List the compactions of the past, the oldest first, those taken back too."""
        in_force = [note_of(it) for it in await self.overlays() if MARK in it.metadata]
        undone = (await self._state()).undone
        return sorted([*in_force, *undone], key=lambda note: note.created_us)

    async def undo_compaction(self) -> Overlay:
        """Take the last compaction back that is in force; `NotFoundError` when there is none."""
        made = [overlay for overlay in await self.overlays() if MARK in overlay.metadata]
        if not made:
            raise NotFoundError(
                f"session {self._id!r} has no compaction to undo", kind="compaction", id=""
            )
        return await self.undo_overlay(made[-1])

    async def undo_overlay(self, overlay: OverlayRef) -> Overlay:
        """Take an overlay away; what it covered is shown again."""
        undone = await super().undo_overlay(overlay)
        if MARK in undone.metadata:
            with self._after_a_write("the compaction that was undone is not listed any more"):
                await self._change_state(lambda state: with_undone(state, undone))
        return undone
