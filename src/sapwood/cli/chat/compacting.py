"""Put a summary in place of the older part of a conversation, when the user asks for it."""

from __future__ import annotations

import msgspec

from ...compaction._sync.running import draft_compaction
from ...compaction.estimate import estimate_text
from ...compaction.function import CompactDraft, CompactRequest, Summarize, create_compact_function
from ...errors import CompactionError, UsageError
from ...model import History, Overlay, Usage
from ...session import Session

# Who asks for it wants it now: only the last few messages stay as they are.
TAIL_MESSAGES = 4


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """The overlay that was added, and what the summary cost."""

    overlay: Overlay
    usage: Usage | None


def compact(session: Session, focus: str | None, summarize: Summarize | None) -> Compacted:
    """Cover all but the last few messages; without a summariser, by a digest.

    When it fails, everything is as it was.
    """
    history = session.history()
    draft = _draft(history, focus, summarize)
    before, after = history.context_tokens, estimate_text(draft.summary)
    if after >= before:
        raise CompactionError(
            f"the summary has {after} tokens, and all that is shown has {before}: "
            "everything stays as it was"
        )
    overlay = session.add_overlay(
        draft.first, draft.last, draft.summary, history=history, metadata=draft.metadata
    )
    return Compacted(overlay=overlay, usage=draft.usage)


def _draft(history: History, focus: str | None, summarize: Summarize | None) -> CompactDraft:
    function = create_compact_function(
        summarize,
        strategy="digest" if summarize is None else "summarize",
        protect_head=0,
        tail_token_budget=0,
        min_tail_messages=TAIL_MESSAGES,
        # The SDK has a limit of its own, and Ctrl-C ends it.
        timeout_s=None,
    )
    tokens = history.context_tokens
    request = CompactRequest(entries=history.entries, tokens=tokens, focus=focus)
    draft = draft_compaction(function, request)
    if draft is None:
        raise UsageError("there is not yet enough that a summary could stand for")
    return draft
