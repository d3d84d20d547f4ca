"""What users' functions gave: is it what they were asked for?"""

from __future__ import annotations

import logging
from typing import Any

from ..errors import CompactionError, UsageError
from ..model import Entry, EntryRef, Usage
from ..rules import check
from .cut_points import allowed_cuts
from .function import CompactDraft, CompactRequest, SummaryAnswer

logger = logging.getLogger(__name__)


def read_summary(answer: Any) -> SummaryAnswer:
    """Read what a summariser gave: a text, or anything with a `text` and perhaps a `usage`."""
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if not isinstance(text, str):
        raise UsageError(
            f"summarize gave {type(answer).__name__}: give a text or a SummaryAnswer",
            path="summarize",
        )
    usage = getattr(answer, "usage", None)
    if usage is not None and not isinstance(usage, Usage):
        logger.warning("the summariser's usage is no sapwood Usage, so it is not counted")
        usage = None
    return SummaryAnswer(text=text, usage=usage)


def refuse_broken(text: str) -> None:
    """Refuse a summary that no store can keep; it is a model's, and not the caller's mistake."""
    try:
        check.text(text, "the summary")
    except UsageError as error:
        raise CompactionError(str(error)) from error


def read_draft(draft: Any, request: CompactRequest) -> CompactDraft | None:
    """Check what a compact function of the user's gave; None when its summary is blank."""
    if draft is None:
        return None
    if not isinstance(draft, CompactDraft) or not isinstance(draft.summary, str):
        raise UsageError(
            f"the compact function gave {type(draft).__name__}: give a CompactDraft with a "
            "summary, or None",
            path="compact function",
        )
    refuse_broken(draft.summary)
    if not isinstance(draft.metadata, dict):
        raise UsageError("the draft's metadata must be a dict", path="metadata")
    first, last = _place(draft.first, request, "first"), _place(draft.last, request, "last")
    if first > last:
        raise UsageError("the draft's first entry comes after its last", path="first")
    _refuse_parted(request, first, last)
    return draft if draft.summary.strip() else None


def _place(entry: Entry, request: CompactRequest, what: str) -> int:
    if isinstance(entry, Entry):
        wanted = EntryRef.of(entry)
        for index, each in enumerate(request.entries):
            if EntryRef.of(each) == wanted:
                return index
    raise UsageError(f"the draft's {what} is not one of the request's entries", path=what)


def _refuse_parted(request: CompactRequest, first: int, last: int) -> None:
    allowed = allowed_cuts(request.entries)
    if not (allowed[first] and allowed[last + 1]):
        raise UsageError(
            "the draft parts a tool call from its result, or covers a call in flight: "
            "align its ends with align_forward and align_backward",
            path="first" if not allowed[first] else "last",
        )
