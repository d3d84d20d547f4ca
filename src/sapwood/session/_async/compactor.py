"""How a compaction goes: a lease, a summary of what is visible, an overlay, all or nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

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
from ...rules import breaker
from ...rules.tokens import count_tokens, estimate_text
from ..compactor_state import MARK, CompactorState
from ..naming import Place, id_of
from ..settings import CompactWith
from .gauge import UNMEASURED
from .lease import AsyncLease
from .watching import AsyncWatching

# Loaded when a session is compacted: others do not pay for it.
if TYPE_CHECKING:
    from ...compaction import CompactDraft, CompactRequest

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


class AsyncCompactor(AsyncWatching):
    """The part of a session that carries a compaction out."""

    async def _compact(
        self, leaf: Place | None, focus: str | None, why: str, function: CompactWith
    ) -> Compaction:
        before = await self._measure_anew()
        lease = AsyncLease(self._store, self._owner, self._id, _lease_s(function), self._new_id)
        fence = await lease.take()
        if fence is None:
            reason = "another compaction of this session is at work"
            await self._tell_compact(phase="refused", reason=reason, tokens_before=before)
            return _refused(reason, before)
        try:
            return await self._run(leaf, focus, why, function, before, fence)
        finally:
            await lease.release(fence)

    async def _run(
        self,
        leaf: Place | None,
        focus: str | None,
        why: str,
        function: CompactWith,
        before: int,
        fence: Fence,
    ) -> Compaction:
        """Carry it out under the lease, and tell how it began and ended."""
        try:
            await self._tell_compact(phase="started", reason=why, tokens_before=before)
            history = await self._visible(leaf)
            made = await self._cover(history, focus, why, function, fence)
        except _Refused as refusal:
            await self._tell_compact(phase="refused", reason=str(refusal), tokens_before=before)
            if refusal.counts and leaf is None:
                await self._note_failure(before)
            return _refused(str(refusal), before)
        except BaseException as error:
            await self._tell_compact(phase="failed", reason=repr(error), tokens_before=before)
            if isinstance(error, Exception) and leaf is None:
                await self._note_failure(before)
            raise
        return await self._finish(made, before, why, at_tip=leaf is None)

    async def _cover(
        self, history: History, focus: str | None, why: str, function: CompactWith, fence: Fence
    ) -> _Made:
        request = self._request(history, focus)
        draft = await self._draft(function, request)
        if draft is None:
            raise _Refused(_why_there_is_none(function, request))
        if draft.usage is not None:
            await self._count(draft.usage)
        pinned = set(await self._pins().whole())
        saved = _hidden_in(history, draft, pinned) - self._tokens_of(draft.summary)
        if saved <= 0:
            raise _Refused("the summary would be no shorter than what it hides")
        mark = {**draft.metadata, "trigger": why}
        try:
            overlay = await self.add_overlay(
                draft.first,
                draft.last,
                draft.summary,
                history=history,
                metadata={MARK: mark},
                fence=fence,
            )
        except LeaseLostError:
            reason = "the lease ran out, and another compaction took over"
            raise _Refused(reason, counts=False) from None
        except ConflictError as error:
            raise _Refused(f"the history was changed meanwhile: {error}") from error
        return _Made(overlay, saved)

    async def _count(self, usage: Usage) -> None:
        try:
            await self._store.add_usage(self._owner, self._id, usage)
        except ConflictError:
            # Some endpoints use their ids again; that must not cost the summary.
            logger.warning("the summary's usage %r is counted already", usage.id, exc_info=True)

    async def _draft(self, function: CompactWith, request: CompactRequest) -> CompactDraft | None:
        from ...compaction._async.running import draft_compaction

        try:
            return await draft_compaction(function, request)
        except (CompactionError, StoreError):
            raise
        except Exception as error:
            raise CompactionError(
                f"the summary could not be made: {type(error).__name__}: {error}"
            ) from error

    async def _finish(self, made: _Made, before: int, why: str, *, at_tip: bool) -> Compaction:
        """Do what follows from an overlay that is in force; whatever comes, it is told of."""
        after = max(0, before - made.saved)
        try:
            # Others may have appended meanwhile, so what it saved is not seen by measuring. One
            # at another leaf says nothing about the context at the tip.
            if at_tip:
                with self._after_a_write("the breaker does not know of the compaction"):
                    await self._note_run(before, after)
            if self._has_context():
                with self._after_a_write("the prompt is still that from before the compaction"):
                    await self._refresh_prompt("compaction")
            with self._after_a_write(UNMEASURED):
                after = await self._measure_anew()
        finally:
            await self._tell_compact(
                phase="done",
                reason=why,
                overlay=made.overlay,
                tokens_before=before,
                tokens_after=after,
            )
        return Compaction(
            status="done", overlay=made.overlay, tokens_before=before, tokens_after=after
        )

    async def _note_run(self, before: int, after: int) -> None:
        await self._change_state(
            lambda state: _with_breaker(
                state,
                breaker.after_run(state.breaker, tokens_before=before, tokens_after=after),
            )
        )

    def _tokens_of(self, summary: str) -> int:
        """Count a summary as the messages that it covers were counted."""
        counted = count_tokens(self._counter, "summary", [TextPart(text=summary)])
        return estimate_text(summary) if counted is None else counted

    async def _note_failure(self, tokens: int) -> None:
        await self._change_state(
            lambda state: _with_breaker(state, breaker.after_failure(state.breaker, tokens=tokens))
        )

    async def _compact_by_itself(self) -> None:
        """Compact when the context is really full and the breaker lets it; never raise."""
        try:
            if not await self.needs_compaction():
                return
            tokens = await self.context_tokens()
            if breaker.may_run((await self._state()).breaker, tokens):
                await self._compact(None, None, "threshold", self._function())
        except Exception as error:  # noqa: BLE001 - the append that it follows has gone through
            await self._tell_error(error)

    async def _visible(self, leaf: Place | None) -> History:
        return await self._store.read(self._owner, self._id, Read(leaf=id_of(leaf)))

    def _request(self, history: History, focus: str | None) -> CompactRequest:
        from ...compaction import CompactRequest

        return CompactRequest(
            entries=history.entries, tokens=history.context_tokens, focus=focus, counter=None
        )

    def _function(self) -> CompactWith:
        """Give what makes the summaries; without a model it is a digest."""
        from ...compaction import TAIL_TOKEN_BUDGET, create_compact_function

        if self._settings.compact is not None:
            return self._settings.compact
        # What stays at both ends has to leave room under a small threshold.
        threshold = self._settings.compact_after
        part = TAIL_TOKEN_BUDGET if threshold is None else min(TAIL_TOKEN_BUDGET, threshold // 3)
        return create_compact_function(
            strategy="digest", tail_token_budget=part, head_token_budget=part
        )

    async def _tell_compact(self, **fields: Any) -> None:
        await self._tell(CompactEvent(owner=self._owner, session=self._id, **fields))


def _lease_s(function: CompactWith) -> float:
    limit: float | None = getattr(function, "timeout_s", None)
    return LEASE_S if limit is None else limit + GRACE_S


def _why_there_is_none(function: CompactWith, request: CompactRequest) -> str:
    """Tell why a function gave no draft."""
    from ...compaction import CompactFunction

    if not isinstance(function, CompactFunction):
        return "the function that makes the summaries gave none"
    is_nothing = function.plan(request) is None
    return "there is nothing to cover" if is_nothing else "the summary is empty"


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


def _with_breaker(state: CompactorState, new: breaker.BreakerState) -> CompactorState:
    return msgspec.structs.replace(state, breaker=new)
