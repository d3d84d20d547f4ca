"""How a session compacts: the settings, and all of it that needs no model and no store.

What users' functions gave is read here, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal, get_args

import msgspec

from ..errors import CompactionError, UsageError
from ..model import Entry, EntryRef, Summary, Usage
from ..rules import check
from ..rules.wording import a_kind
from .digest import digest
from .estimate import EntryCounter
from .ranges import (
    HEAD_TOKEN_BUDGET,
    MIN_TAIL_MESSAGES,
    PROTECT_HEAD,
    TAIL_TOKEN_BUDGET,
    CompactionRange,
    allowed_cuts,
    check_sizes,
    choose_range,
)
from .summary_prompt import (
    MAX_CHARS,
    Template,
    build_summary_prompt,
    check_template,
    summary_budget,
)

logger = logging.getLogger(__name__)

Strategy = Literal["summarize", "digest", "hybrid"]
MAX_TIMEOUT_S = 86_400


class SummaryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a summariser may give instead of a plain text, so that its call is counted."""

    text: str
    usage: Usage | None = None


Summarize = Callable[[str], Any]
"""From a prompt to a text or a `SummaryAnswer`, at once or to be awaited."""


class CompactRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be compacted: all that is visible, and its tokens.

    `counter` is what the session counts entries with, where that is not what is stored with them.
    """

    entries: list[Entry]
    tokens: int
    focus: str | None = None
    counter: EntryCounter | None = None


class CompactPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries a summary is to cover, how long it should be, and the prompt that asks for it.

    The prompt is empty for a digest.
    """

    range: CompactionRange
    entries: list[Entry]
    prompt: str
    target_tokens: int
    focus: str | None = None


class CompactDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of the entries from `first` to `last`, not yet stored, and what it cost."""

    first: Entry
    last: Entry
    summary: str
    metadata: dict[str, Any] = {}
    usage: Usage | None = None


class CompactFunction(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a compaction. It holds no state: what it gives depends on the request alone.

    See `create_compact_function`.
    """

    summarize: Summarize | None
    strategy: Strategy
    protect_head: int
    tail_token_budget: int
    min_tail_messages: int
    head_token_budget: int
    summary_tokens: int | None
    prompt: Template | None
    max_prompt_chars: int
    counter: EntryCounter | None
    timeout_s: float | None

    def plan(self, request: CompactRequest) -> CompactPlan | None:
        """Decide what to cover and write the prompt; None when nothing is worth it."""
        # The request's counter is what the session counts with: both have to agree.
        counter = self.counter or request.counter
        found = choose_range(
            request.entries,
            protect_head=self.protect_head,
            tail_token_budget=self.tail_token_budget,
            min_tail_messages=self.min_tail_messages,
            head_token_budget=self.head_token_budget,
            counter=counter,
        )
        if found is None:
            return None
        covered = list(request.entries[found.first : found.last + 1])
        target = self.summary_tokens or summary_budget(covered, counter)
        prompt = ""
        if self.strategy != "digest":
            prompt = build_summary_prompt(
                covered,
                target_tokens=target,
                focus=request.focus,
                template=self.prompt,
                max_chars=self.max_prompt_chars,
            )
        return CompactPlan(
            range=found,
            entries=covered,
            prompt=prompt,
            target_tokens=target,
            focus=request.focus,
        )

    def digest(self, plan: CompactPlan) -> str:
        """Write the summary without a model."""
        return digest(plan.entries, plan.target_tokens)

    def finish(
        self,
        plan: CompactPlan,
        summary: str,
        *,
        usage: Usage | None = None,
        fell_back: str | None = None,
    ) -> CompactDraft | None:
        """Make the draft of an overlay; None when the summary is blank.

        `fell_back` says why it is a digest although a summary was asked for.
        """
        if not summary.strip():
            return None
        metadata: dict[str, Any] = {
            "strategy": self.strategy,
            "fell_back": fell_back is not None,
            "covered": len(plan.entries),
            "summaries": sum(isinstance(entry, Summary) for entry in plan.entries),
            "focus": plan.focus,
        }
        if fell_back is not None:
            metadata["reason"] = fell_back
        return CompactDraft(
            first=plan.entries[0],
            last=plan.entries[-1],
            summary=summary.strip(),
            metadata=metadata,
            usage=usage,
        )


CompactCallable = CompactFunction | Callable[[CompactRequest], Any]
"""What makes a session's summaries: our own, or any function to a `CompactDraft` or None."""


def create_compact_function(
    summarize: Summarize | None = None,
    *,
    strategy: Strategy = "summarize",
    protect_head: int = PROTECT_HEAD,
    tail_token_budget: int = TAIL_TOKEN_BUDGET,
    min_tail_messages: int = MIN_TAIL_MESSAGES,
    head_token_budget: int = HEAD_TOKEN_BUDGET,
    summary_tokens: int | None = None,
    prompt: Template | None = None,
    max_prompt_chars: int = MAX_CHARS,
    counter: EntryCounter | None = None,
    timeout_s: float | None = 120,
) -> CompactFunction:
    """Set up how a session compacts.

    `summarize` takes a prompt and gives a text, or a `SummaryAnswer`. The strategies: "summarize"
    asks it; "digest" needs no model; "hybrid" asks it, and writes a digest when it fails, hangs
    for longer than `timeout_s`, or gives nothing. For the head, the tail and the range see
    `choose_range`, for `prompt` see `build_summary_prompt`.
    """
    _check_strategy(strategy, summarize)
    check_sizes(
        protect_head=protect_head,
        tail_token_budget=tail_token_budget,
        min_tail_messages=min_tail_messages,
        head_token_budget=head_token_budget,
    )
    check.whole(summary_tokens, "summary_tokens", 1)
    check.count(max_prompt_chars, "max_prompt_chars", 1)
    check_template(prompt)
    if counter is not None and not callable(counter):
        raise UsageError(f"counter must be a function, not {counter!r}", path="counter")
    _check_timeout(timeout_s)
    return CompactFunction(
        summarize=summarize,
        strategy=strategy,
        protect_head=protect_head,
        tail_token_budget=tail_token_budget,
        min_tail_messages=min_tail_messages,
        head_token_budget=head_token_budget,
        summary_tokens=summary_tokens,
        prompt=prompt,
        max_prompt_chars=max_prompt_chars,
        counter=counter,
        timeout_s=timeout_s,
    )


def _check_strategy(strategy: str, summarize: Summarize | None) -> None:
    if strategy not in get_args(Strategy):
        raise UsageError(
            f"strategy must be one of {', '.join(get_args(Strategy))}, not {strategy!r}",
            path="strategy",
        )
    if summarize is not None and not callable(summarize):
        raise UsageError(f"summarize must be a function, not {summarize!r}", path="summarize")
    if summarize is None and strategy != "digest":
        raise UsageError(
            f"strategy {strategy!r} needs a summarize function: give one, or strategy='digest'",
            path="summarize",
        )


def _check_timeout(seconds: float | None) -> None:
    if seconds is None:
        return
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= MAX_TIMEOUT_S:
        raise UsageError(
            f"timeout_s must be more than 0 and at most {MAX_TIMEOUT_S}, not {seconds!r}",
            path="timeout_s",
        )


def read_summary(answer: Any) -> SummaryAnswer:
    """Read what a summariser gave: a text, or anything with a `text` and perhaps a `usage`."""
    text = answer if isinstance(answer, str) else getattr(answer, "text", None)
    if not isinstance(text, str):
        raise UsageError(
            f"summarize gave {a_kind(answer)}: give a text or a SummaryAnswer",
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
            f"the compact function gave {a_kind(draft)}: give a CompactDraft with a "
            "summary, or None",
            path="compact function",
        )
    refuse_broken(draft.summary)
    if not isinstance(draft.metadata, dict):
        raise UsageError("the draft's metadata must be a dict", path="metadata")
    first, last = _place(draft.first, request, "first"), _place(draft.last, request, "last")
    if first > last:
        raise UsageError("the draft's first entry comes after its last", path="first")
    allowed = allowed_cuts(request.entries)
    if not (allowed[first] and allowed[last + 1]):
        raise UsageError(
            "the draft parts a tool call from its result, or covers a call in flight: "
            "align its ends with align_forward and align_backward",
            path="first" if not allowed[first] else "last",
        )
    return draft if draft.summary.strip() else None


def _place(entry: Entry, request: CompactRequest, what: str) -> int:
    if isinstance(entry, Entry):
        wanted = EntryRef.of(entry)
        for index, each in enumerate(request.entries):
            if EntryRef.of(each) == wanted:
                return index
    raise UsageError(f"the draft's {what} is not one of the request's entries", path=what)
