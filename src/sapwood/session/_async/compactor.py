"""How a compaction goes: a lease, a summary of what is visible, an overlay, all or nothing."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import (
    CompactionError,
    ConflictError,
    LeaseLostError,
    NotFoundError,
    SapwoodError,
    SessionClosedError,
    StaleVersionError,
    StoreError,
)
from ...model import (
    CompactEvent,
    Compaction,
    CompactionPreview,
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
from ..compact_function import (
    function_of,
    request_for,
    why_there_is_no_draft,
    without_protection,
)
from ..compactor_state import KEY, MARK, CompactorState, with_failure, with_run
from ..heartbeat import AsyncHeartbeat
from ..references import PlaceRef, id_of
from .context_blocks import AsyncContextBlocks
from .context_size import UNMEASURED, AsyncContextSize
from .overlays import AsyncOverlays, AsyncPins
from .stored_session import AsyncStoredSession

# Loaded when a session is compacted: others do not pay for it.
if TYPE_CHECKING:
    from ...compaction import CompactDraft, CompactRequest
    from ...compaction.function import CompactCallable

logger = logging.getLogger(__name__)

LEASE = "compaction"
LEASE_S = 60.0
"""How long nobody else compacts after a process ended; while it is at work, it renews the lease."""
CLOSED = "the session is closed"


class _Refused(Exception):  # noqa: N818 - it is an outcome, and no error
    """Why a compaction was not made; everything is as it was.

    `counts` says that the breaker is to hold the next one back for it.
    """

    def __init__(self, reason: str, *, counts: bool = True) -> None:
        super().__init__(reason)
        self.counts = counts


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
        blocks: AsyncContextBlocks,
        size: AsyncContextSize,
        pins: AsyncPins,
        overlays: AsyncOverlays,
    ) -> None:
        self._stored = stored
        self._blocks = blocks
        self._size = size
        self._pins = pins
        self._overlays = overlays

    async def preview(self, leaf: PlaceRef | None, focus: str | None) -> CompactionPreview | None:
        """Return what a compaction would cover; None when that is nothing, or is not known."""
        from ...compaction import CompactFunction

        function = function_of(self._stored.setup.settings)
        if not isinstance(function, CompactFunction):
            return None
        history = await self._stored.read(Read(leaf=id_of(leaf)))
        plan = function.plan(request_for(history, focus))
        if plan is None:
            return None
        return CompactionPreview(
            entries=plan.entries,
            tokens=sum(entry.tokens for entry in plan.entries),
            target_tokens=plan.target_tokens,
            prompt=plan.prompt,
        )

    async def cover_all(self, summary: str | None, focus: str | None) -> None:
        """Cover everything: by a summary that is given, or as much as may be covered by one."""
        if summary is None:
            function = without_protection(function_of(self._stored.setup.settings))
            outcome = await self.compact("split", focus=focus, function=function)
            if outcome.status == "refused":
                raise CompactionError(f"there is no summary to go on with: {outcome.reason}")
            return
        history = await self._stored.read(Read())
        if history.entries:
            metadata = {MARK: {"strategy": "given", "trigger": "split"}}
            first, last = history.entries[0], history.entries[-1]
            await self._overlays.add(first, last, summary, history=history, metadata=metadata)

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
        before = await self._size.tokens_anew()
        function = function_of(self._stored.setup.settings) if function is None else function
        async with compaction_lease(self._stored) as fence:
            if fence is None:
                return await self._refuse("another compaction of this session is at work", before)
            return await self._run(_Task(leaf, focus, trigger, function, before), fence)

    async def _run(self, task: _Task, fence: Fence) -> Compaction:
        """Carry it out under the lease, and tell how it began and ended."""
        before = task.before
        try:
            await self._tell(phase="started", reason=task.trigger, tokens_before=before)
            overlay, saved = await self._cover(task, fence)
        except _Refused as refusal:
            outcome = await self._refuse(str(refusal), before)
            if refusal.counts:
                await self._note_failure(task)
            return outcome
        except BaseException as error:
            await self._tell(phase="failed", reason=repr(error), tokens_before=before)
            if isinstance(error, Exception):
                await self._note_failure(task)
            raise
        return await self._finish(task, overlay, saved)

    async def _cover(self, task: _Task, fence: Fence) -> tuple[Overlay, int]:
        """Make the overlay; return how many tokens less are shown for it, too."""
        if (await self._stored.record()).closed:
            raise _Refused(CLOSED, counts=False)
        history = await self._stored.read(Read(leaf=id_of(task.leaf)))
        request = request_for(history, task.focus)
        draft = await _draft(task.function, request)
        if draft is None:
            raise _Refused(why_there_is_no_draft(task.function, request))
        if draft.usage is not None:
            await self._count(draft.usage)
        pinned = set(await self._pins.whole())
        # Counted as the messages that it covers were counted.
        counter, parts = self._stored.setup.counter, [TextPart(text=draft.summary)]
        counted = count_tokens(counter, "summary", parts)
        tokens = estimate_text(draft.summary) if counted is None else counted
        saved = _hidden_in(history, draft, pinned) - tokens
        if saved <= 0:
            raise _Refused("the summary would be no shorter than what it hides")
        try:
            overlay = await self._overlays.add(
                draft.first,
                draft.last,
                draft.summary,
                history=history,
                metadata={MARK: {**draft.metadata, "trigger": task.trigger}},
                fence=fence,
            )
        except SessionClosedError:
            raise _Refused(CLOSED, counts=False) from None
        except LeaseLostError:
            reason = "the lease ran out, and another compaction took over"
            raise _Refused(reason, counts=False) from None
        except ConflictError as error:
            raise _Refused(f"the history was changed meanwhile: {error}") from error
        return overlay, saved

    async def _count(self, usage: Usage) -> None:
        try:
            await self._stored.store.add_usage(self._stored.owner, self._stored.id, usage)
        except ConflictError:
            # Some endpoints use their ids again; that must not cost the summary.
            logger.warning("the summary's usage %r is counted already", usage.id, exc_info=True)

    async def _finish(self, task: _Task, overlay: Overlay, saved: int) -> Compaction:
        """Do what follows from an overlay that is in force; whatever comes, it is told of."""
        stored, after = self._stored, max(0, task.before - saved)
        run = partial(with_run, before=task.before, after=after)
        try:
            # Others may have appended meanwhile, so what it saved is not seen by measuring. One
            # at another leaf says nothing about the context at the tip.
            if task.leaf is None:
                with stored.after_a_write("the breaker does not know of the compaction"):
                    await stored.change_document(KEY, CompactorState, run)
            if self._blocks.may_be_there:
                with stored.after_a_write("the prompt is still that from before the compaction"):
                    await self._blocks.refresh("compaction")
            with stored.after_a_write(UNMEASURED):
                after = await self._size.tokens_anew()
        finally:
            await self._tell(
                phase="done",
                reason=task.trigger,
                overlay=overlay,
                tokens_before=task.before,
                tokens_after=after,
            )
        return Compaction(
            status="done", overlay=overlay, tokens_before=task.before, tokens_after=after
        )

    async def _note_failure(self, task: _Task) -> None:
        if task.leaf is None:
            await self._stored.change_document(
                KEY, CompactorState, lambda state: with_failure(state, task.before)
            )

    async def _refuse(self, reason: str, tokens: int) -> Compaction:
        await self._tell(phase="refused", reason=reason, tokens_before=tokens)
        return Compaction(
            status="refused", reason=reason, tokens_before=tokens, tokens_after=tokens
        )

    async def _tell(self, **fields: Any) -> None:
        stored = self._stored
        await stored.tell(CompactEvent(owner=stored.owner, session=stored.id, **fields))


async def _draft(function: CompactCallable, request: CompactRequest) -> CompactDraft | None:
    from ...compaction._async.drafts import draft_compaction

    try:
        return await draft_compaction(function, request)
    except (CompactionError, StoreError):
        raise
    except Exception as error:
        raise CompactionError(
            f"the summary could not be made: {type(error).__name__}: {error}"
        ) from error


def _hidden_in(history: History, draft: CompactDraft, pinned: set[str]) -> int:
    """Count what a summary would hide; pins stay shown."""
    refs = [EntryRef.of(entry) for entry in history.entries]
    first, last = refs.index(EntryRef.of(draft.first)), refs.index(EntryRef.of(draft.last))
    return sum(
        entry.overlay.tokens if isinstance(entry, Summary) else entry.tokens
        for entry in history.entries[first : last + 1]
        if isinstance(entry, Summary) or entry.id not in pinned
    )


@asynccontextmanager
async def compaction_lease(stored: AsyncStoredSession) -> AsyncIterator[Fence | None]:
    """Hold the right to compact a session, however long that takes; None while another has it.

    By the store's clock it ends by itself when it is not renewed any more. Whoever took it then
    cannot be overwritten: what is written by it is fenced.
    """
    # By it a lease is known again whose version was never told.
    new_id = stored.setup.new_id
    mark = b"{}" if new_id is None else f'"{new_id()}"'.encode()
    heartbeat = AsyncHeartbeat(LEASE_S, on_lost=lambda: _warn(stored))
    fence = await _take_lease(stored, mark)
    if fence is None:
        yield None
        return
    heartbeat.start(
        lambda: stored.store.renew_document(
            stored.owner,
            LEASE,
            session=stored.id,
            expected_version=fence.version,
            expires_in_s=LEASE_S,
        )
    )
    try:
        yield fence
    finally:
        try:
            await heartbeat.stop()
        finally:
            await _release_lease(stored, fence)


def _warn(stored: AsyncStoredSession) -> None:
    logger.warning(
        "the lease on compacting %r was lost: another compaction may take over", stored.id
    )


async def _take_lease(stored: AsyncStoredSession, mark: bytes) -> Fence | None:
    try:
        document = await stored.store.put_document(
            stored.owner,
            LEASE,
            mark,
            session=stored.id,
            expected_version=0,
            expires_in_s=LEASE_S,
        )
    except StaleVersionError:
        return None
    except BaseException:
        # A cancelled write may have gone through all the same.
        with suppress(SapwoodError):
            mine = None if mark == b"{}" else await stored.find_document(LEASE)
            if mine is not None and mine.value == mark:
                await _release_lease(stored, Fence(key=LEASE, version=mine.version))
        raise
    return Fence(key=LEASE, version=document.version)


async def _release_lease(stored: AsyncStoredSession, fence: Fence) -> None:
    """Release it, unless somebody else has it by now; what cannot be given back ends by itself."""
    try:
        await stored.store.delete_document(
            stored.owner, LEASE, session=stored.id, expected_version=fence.version
        )
    except (StaleVersionError, NotFoundError):
        # It ran out and was taken by another, or the session is gone.
        return
    except StoreError:
        logger.warning("the lease of %r could not be given back", stored.id, exc_info=True)
