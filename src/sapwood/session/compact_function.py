"""The function that makes a session's summaries, and what it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..model import History
from .settings import SessionSettings

# Loaded when a session is compacted: others do not pay for it.
if TYPE_CHECKING:
    from ..compaction import CompactRequest
    from ..compaction.function import CompactCallable


def function_of(settings: SessionSettings) -> CompactCallable:
    """Return what makes the summaries; without a model it is a digest."""
    from ..compaction import TAIL_TOKEN_BUDGET, create_compact_function

    if settings.compact_with is not None:
        return settings.compact_with
    # What stays at both ends has to leave room under a small threshold.
    threshold = settings.compact_after
    part = TAIL_TOKEN_BUDGET if threshold is None else min(TAIL_TOKEN_BUDGET, threshold // 3)
    return create_compact_function(
        strategy="digest", tail_token_budget=part, head_token_budget=part
    )


def without_protection(function: CompactCallable) -> CompactCallable:
    """Return a function that may cover all that it can, the head and the tail as well."""
    from ..compaction import CompactFunction

    if not isinstance(function, CompactFunction):
        return function
    return msgspec.structs.replace(
        function, protect_head=0, tail_token_budget=0, min_tail_messages=0
    )


def request_for(history: History, focus: str | None) -> CompactRequest:
    """Return what a function is asked with to compact a history."""
    from ..compaction import CompactRequest

    return CompactRequest(
        entries=history.entries, tokens=history.context_tokens, focus=focus, counter=None
    )


def why_there_is_no_draft(function: CompactCallable, request: CompactRequest) -> str:
    """Say why a function made no draft of a summary."""
    from ..compaction import CompactFunction

    if not isinstance(function, CompactFunction):
        return "the function that makes the summaries gave none"
    is_nothing = function.plan(request) is None
    return "there is nothing to cover" if is_nothing else "the summary is empty"
