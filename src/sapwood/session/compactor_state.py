"""What is remembered from one compaction to the next, in one document of the session."""

from __future__ import annotations

import msgspec

from ..model import CompactionNote, Overlay
from ..rules.threshold import BreakerState, ThresholdState, after_failure, after_run

KEY = "compactor"
MARK = "compaction"
"""The key in an overlay's metadata that tells a compaction from an overlay made by hand."""
MOST_UNDONE = 100


class CompactorState(msgspec.Struct, frozen=True, kw_only=True):
    """The breaker, which thresholds the context was above, and the compactions taken back."""

    breaker: BreakerState = BreakerState()
    thresholds: ThresholdState = ThresholdState()
    undone: list[CompactionNote] = []


def note_of(overlay: Overlay, *, undone: bool = False) -> CompactionNote:
    """Make the note of a compaction from its overlay."""
    mark = overlay.metadata[MARK]
    return CompactionNote(
        overlay=overlay.id,
        reason=str(mark.get("trigger", "")),
        strategy=str(mark.get("strategy", "")),
        tokens=overlay.tokens,
        covered_tokens=overlay.covered_tokens,
        created_us=overlay.created_us,
        undone=undone,
    )


def with_run(state: CompactorState, before: int, after: int) -> CompactorState:
    """Count a compaction that was completed."""
    breaker = after_run(state.breaker, tokens_before=before, tokens_after=after)
    return msgspec.structs.replace(state, breaker=breaker)


def with_failure(state: CompactorState, tokens: int) -> CompactorState:
    """Count a compaction that failed."""
    return msgspec.structs.replace(state, breaker=after_failure(state.breaker, tokens=tokens))


def with_undone(state: CompactorState, overlay: Overlay) -> CompactorState:
    """Note a compaction that was taken back; only the last ones are kept."""
    note = note_of(overlay, undone=True)
    return msgspec.structs.replace(state, undone=[*state.undone, note][-MOST_UNDONE:])
