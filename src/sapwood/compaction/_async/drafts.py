"""A compaction's summary, asked for and made into a draft. Nothing is stored here."""

from __future__ import annotations

import logging
from typing import Any

from ...calls import AsyncCall
from ...errors import CompactionError, SapwoodError
from ..cuts import cut_middle
from ..function import (
    CompactCallable,
    CompactDraft,
    CompactFunction,
    CompactRequest,
    read_draft,
    read_summary,
    refuse_broken,
)

logger = logging.getLogger(__name__)


async def draft_compaction(
    function: CompactCallable, request: CompactRequest
) -> CompactDraft | None:
    """Make the draft of a summary; None when there is nothing worth one, or it came out blank.

    `function` is a `CompactFunction`, or any function from a `CompactRequest` to a `CompactDraft`
    or None. `CompactionError` when it or the summariser fails, with that error as its cause,
    unless that is one of ours; `UsageError` when it gives something else.
    """
    if not isinstance(function, CompactFunction):
        return read_draft(await _answer(None, function, request), request)
    plan = function.plan(request)
    if plan is None:
        return None
    if function.strategy == "digest":
        return function.finish(plan, function.digest(plan))
    usage = None
    try:
        answer = read_summary(await _answer(function.timeout_s, function.summarize, plan.prompt))
        usage, reason = answer.usage, "the summary was blank"
        refuse_broken(answer.text)
        if answer.text.strip() or function.strategy != "hybrid":
            return function.finish(plan, answer.text, usage=usage)
    except SapwoodError as error:
        if function.strategy != "hybrid":
            raise
        logger.warning("no summary could be made; a digest is used", exc_info=True)
        # It is stored, and others' errors may quote what no store can keep.
        reason = cut_middle(str(error).encode(errors="replace").decode(), 300)
    return function.finish(plan, function.digest(plan), usage=usage, fell_back=reason)


async def _answer(seconds: float | None, function: Any, argument: Any) -> Any:
    try:
        # The lease has to be renewed while it works, so it does not hold up the loop.
        return await AsyncCall.within(seconds, function, argument, in_thread=True)
    except SapwoodError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        raise CompactionError(f"the summary could not be made: {what}") from error
