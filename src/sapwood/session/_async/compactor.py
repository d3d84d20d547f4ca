"""How a compaction goes: a lease, a summary of what is visible, an overlay, all or nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CompactionError, ConflictError, LeaseLostError, StoreError
from ...model import (
    CompactEvent,
    Compaction,
    Entry,
    EntryRef,
    Fence,
    History,
    Overlay,
    Read,
    Summary,
    TextPart,
    Usage,
)
from ...rules.tokens import count_tokens, estimate_text
from ..builder import Setup
from ..compact_function import function_of, request_for, why_there_is_no_draft
from ..compactor_state import MARK
from ..references import PlaceRef, id_of
from .breaker import AsyncBreaker
from .context_blocks import AsyncContextBlocks
from .context_size import UNMEASURED, AsyncContextSize
from .lease import AsyncLease
from .listeners import AsyncListeners
from .overlays import AsyncOverlayWriter
from .pins import AsyncPins
from .stored_session import AsyncStoredSession

# Loaded when a session is compacted: others do not pay for it.
if TYPE_CHECKING:
    from ...compaction import CompactDraft, CompactRequest
    from ...compaction.function import CompactCallable

logger = logging.getLogger(__name__)

LEASE_S = 600.0
"""How long a compaction by a function without a time limit may take."""
GRACE_S = 60.0
"""How much longer than the summariser's limit the lease is."""


class _Refused(Exception):  # noqa: N818 - it is an outcome, and no error
    """Why a compaction was not made; everything is as it was.

    `counts` says that the breaker is to hold the next one back for it.
    """

    def __init__(self, reason: str, *, counts: bool = True) -> None:
        super().__init__(reason)
        self.counts = counts


class _Made(NamedTuple):
    """An overlay, and how many tokens less are shown for it."""

    overlay: Overlay
    saved: int


class _Task(NamedTuple):
    """What is to be compacted and why, by which function, and how full the context was."""

    leaf: PlaceRef | None
    focus: str | None
    trigger: str
    function: CompactCallable
    before: int


class AsyncCompactor:
    """Carries compactions out, one at a time."""

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        listeners: AsyncListeners,
        blocks: AsyncContextBlocks,
        size: AsyncContextSize,
        pins: AsyncPins,
        overlays: AsyncOverlayWriter,
        breaker: AsyncBreaker,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._listeners = listeners
        self._blocks = blocks
        self._size = size
        self._pins = pins
        self._overlays = overlays
        self._breaker = breaker

    async def compact(
        self,
        trigger: str,
        *,
        leaf: PlaceRef | None = None,
        focus: str | None = None,
        function: CompactCallable | None = None,
    ) -> Compaction:
        """Cover the middle of a history by a summary; the function is the one that is set.

        `trigger` says what it was made for.
        """
        stored, before = self._stored, await self._size.tokens_anew()
        function = function_of(self._setup.settings) if function is None else function
        lease = AsyncLease(
            stored.store, stored.owner, stored.id, _lease_s(function), self._setup.new_id
        )
        fence = await lease.take()
        if fence is None:
            reason = "another compaction of this session is at work"
            await self._tell(phase="refused", reason=reason, tokens_before=before)
            return _refused(reason, before)
        try:
            return await self._run(_Task(leaf, focus, trigger, function, before), fence)
        finally:
            await lease.release(fence)

    async def _run(self, task: _Task, fence: Fence) -> Compaction:
        """Carry it out under the lease, and tell how it began and ended."""
        before, counts = task.before, task.leaf is None
        try:
            await self._tell(phase="started", reason=task.trigger, tokens_before=before)
            made = await self._cover(task, fence)
        except _Refused as refusal:
            await self._tell(phase="refused", reason=str(refusal), tokens_before=before)
            if refusal.counts and counts:
                await self._breaker.note_failure(before)
            return _refused(str(refusal), before)
        except BaseException as error:
            await self._tell(phase="failed", reason=repr(error), tokens_before=before)
            if isinstance(error, Exception) and counts:
                await self._breaker.note_failure(before)
            raise
        return await self._finish(task, made)

    async def _cover(self, task: _Task, fence: Fence) -> _Made:
        history = await self._stored.read(Read(leaf=id_of(task.leaf)))
        request = request_for(history, task.focus)
        draft = await _draft(task.function, request)
        if draft is None:
            raise _Refused(why_there_is_no_draft(task.function, request))
        if draft.usage is not None:
            await self._count(draft.usage)
        pinned = set(await self._pins.whole())
        saved = _hidden_in(history, draft, pinned) - self._tokens_of(draft.summary)
        if saved <= 0:
            raise _Refused("the summary would be no shorter than what it hides")
        return _Made(await self._overlay(history, draft, task.trigger, fence), saved)

    async def _overlay(
        self, history: History, draft: CompactDraft, trigger: str, fence: Fence
    ) -> Overlay:
        try:
            return await self._overlays.add(
                draft.first,
                draft.last,
                draft.summary,
                history=history,
                metadata={MARK: {**draft.metadata, "trigger": trigger}},
                fence=fence,
            )
        except LeaseLostError:
            reason = "the lease ran out, and another compaction took over"
            raise _Refused(reason, counts=False) from None
        except ConflictError as error:
            raise _Refused(f"the history was changed meanwhile: {error}") from error

    async def _count(self, usage: Usage) -> None:
        try:
            await self._stored.store.add_usage(self._stored.owner, self._stored.id, usage)
        except ConflictError:
            # Some endpoints use their ids again; that must not cost the summary.
            logger.warning("the summary's usage %r is counted already", usage.id, exc_info=True)

    async def _finish(self, task: _Task, made: _Made) -> Compaction:
        """Do what follows from an overlay that is in force; whatever comes, it is told of."""
        after = max(0, task.before - made.saved)
        after_a_write = self._stored.after_a_write
        try:
            # Others may have appended meanwhile, so what it saved is not seen by measuring. One
            # at another leaf says nothing about the context at the tip.
            if task.leaf is None:
                with after_a_write("the breaker does not know of the compaction"):
                    await self._breaker.note_run(task.before, after)
            if self._blocks.may_be_there:
                with after_a_write("the prompt is still that from before the compaction"):
                    await self._blocks.refresh("compaction")
            with after_a_write(UNMEASURED):
                after = await self._size.tokens_anew()
        finally:
            await self._tell(
                phase="done",
                reason=task.trigger,
                overlay=made.overlay,
                tokens_before=task.before,
                tokens_after=after,
            )
        return Compaction(
            status="done", overlay=made.overlay, tokens_before=task.before, tokens_after=after
        )

    def _tokens_of(self, summary: str) -> int:
        """Count a summary as the messages that it covers were counted."""
        counted = count_tokens(self._setup.counter, "summary", [TextPart(text=summary)])
        return estimate_text(summary) if counted is None else counted

    async def _tell(self, **fields: Any) -> None:
        stored = self._stored
        await self._listeners.tell(CompactEvent(owner=stored.owner, session=stored.id, **fields))


async def _draft(function: CompactCallable, request: CompactRequest) -> CompactDraft | None:
    from ...compaction._async.running import draft_compaction

    try:
        return await draft_compaction(function, request)
    except (CompactionError, StoreError):
        raise
    except Exception as error:
        raise CompactionError(
            f"the summary could not be made: {type(error).__name__}: {error}"
        ) from error


def _lease_s(function: CompactCallable) -> float:
    limit: float | None = getattr(function, "timeout_s", None)
    return LEASE_S if limit is None else limit + GRACE_S


def _refused(reason: str, tokens: int) -> Compaction:
    return Compaction(status="refused", reason=reason, tokens_before=tokens, tokens_after=tokens)


def _hidden_in(history: History, draft: CompactDraft, pinned: set[str]) -> int:
    """Count what a summary would hide; pins stay shown."""
    refs = [EntryRef.of(entry) for entry in history.entries]
    first, last = refs.index(EntryRef.of(draft.first)), refs.index(EntryRef.of(draft.last))
    return sum(_hidden_tokens(entry, pinned) for entry in history.entries[first : last + 1])


def _hidden_tokens(entry: Entry, pinned: set[str]) -> int:
    if isinstance(entry, Summary):
        return entry.overlay.tokens
    return 0 if entry.id in pinned else entry.tokens
