"""The parts that a compaction is made of, each of use on its own."""

from ..rules.tokens import estimate_parts, estimate_text
from .digest import digest
from .estimate import EntryCounter, entry_tokens, history_tokens
from .fit import Fitted, MessageCounter, fit_messages, truncate_older_messages
from .function import (
    CompactDraft,
    CompactFunction,
    CompactPlan,
    CompactRequest,
    SummaryAnswer,
    create_compact_function,
)
from .overflow import is_context_overflow
from .ranges import (
    IN_FLIGHT_REPLIES,
    TAIL_TOKEN_BUDGET,
    CompactionRange,
    align_backward,
    align_forward,
    choose_range,
    find_tail_cut,
    first_in_flight,
)
from .repair import SUMMARY_HEADING, model_messages, repair_messages
from .summary_prompt import SummaryRequest, Template, build_summary_prompt, summary_budget
from .validity import is_valid_input

__all__ = [
    "IN_FLIGHT_REPLIES",
    "SUMMARY_HEADING",
    "TAIL_TOKEN_BUDGET",
    "CompactDraft",
    "CompactFunction",
    "CompactPlan",
    "CompactRequest",
    "CompactionRange",
    "EntryCounter",
    "Fitted",
    "MessageCounter",
    "SummaryAnswer",
    "SummaryRequest",
    "Template",
    "align_backward",
    "align_forward",
    "build_summary_prompt",
    "choose_range",
    "create_compact_function",
    "digest",
    "entry_tokens",
    "estimate_parts",
    "estimate_text",
    "find_tail_cut",
    "first_in_flight",
    "fit_messages",
    "history_tokens",
    "is_context_overflow",
    "is_valid_input",
    "model_messages",
    "repair_messages",
    "summary_budget",
    "truncate_older_messages",
]
