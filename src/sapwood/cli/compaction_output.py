"""Write what a compaction did, would do, or did in the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..model import Compaction, CompactionNote, CompactionPreview, Entry, Message, Overlay
from .output import Output, note
from .passage import write_text
from .records import iso, local, overlay_json
from .table import Column, Table
from .text import clean

if TYPE_CHECKING:
    from ..compaction import CompactFunction

HINT = "a smaller --keep-tokens or --head covers more"
NOTHING = "there is nothing to cover"


def show_outcome(session: str, done: Compaction, function: CompactFunction, is_json: bool) -> None:
    """Write how a compaction ended."""
    output, overlay = Output(), done.overlay
    if is_json:
        output.json({"session": session, **outcome_json(done)})
        return
    if overlay is None:
        output.line(f"{output.style('refused', fg='yellow')}: {clean(done.reason)}")
        _hint(function)
        return
    output.line(f"{clean(overlay.id)}  {_span(overlay)}: {_tokens(overlay)}")
    reason = overlay.metadata.get("compaction", {}).get("reason")
    if reason:
        note(f"a digest, because {clean(reason)}")
    output.line(f"the context has {done.tokens_after} tokens, and had {done.tokens_before}")


def outcome_json(done: Compaction) -> dict[str, Any]:
    """Return how a compaction ended."""
    return {
        "status": done.status,
        "reason": done.reason,
        "overlay": None if done.overlay is None else overlay_json(done.overlay),
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
    }


def show_preview(
    session: str, preview: CompactionPreview | None, function: CompactFunction, is_json: bool
) -> None:
    """Write what a compaction would cover."""
    output, strategy = Output(), function.strategy
    if is_json:
        output.json({"session": session, "strategy": strategy, **_preview_json(preview)})
    elif preview is None:
        output.line(f"{output.style('refused', fg='yellow')}: {NOTHING}")
        _hint(function)
    else:
        first, last = _top(preview.entries[0]), preview.entries[-1].depth
        output.line(
            f"{strategy} of messages {first} to {last}: {preview.tokens} tokens would become about "
            f"{preview.target_tokens}"
        )
        if preview.prompt:
            output.line()
            write_text(output, preview.prompt)


def _hint(function: CompactFunction) -> None:
    """Note how more is covered, unless nothing is kept at either end."""
    if function.tail_token_budget or function.protect_head:
        note(HINT)


def _preview_json(preview: CompactionPreview | None) -> dict[str, Any]:
    if preview is None:
        return {"status": "refused", "reason": NOTHING, "covers": None, "prompt": ""}
    covers = {
        "first": _top(preview.entries[0]),
        "last": preview.entries[-1].depth,
        "entries": len(preview.entries),
        "tokens": preview.tokens,
        "target_tokens": preview.target_tokens,
    }
    return {"status": "possible", "reason": "", "covers": covers, "prompt": preview.prompt}


def show_undone(session: str, overlay: Overlay, is_json: bool) -> None:
    """Write which compaction was taken back."""
    output = Output()
    if is_json:
        output.json({"session": session, "undone": overlay_json(overlay)})
    else:
        output.line(f"undone {clean(overlay.id)}: {_span(overlay)} are shown again")


def show_list(session: str, notes: Sequence[CompactionNote], is_json: bool) -> None:
    """List the compactions of the past, the oldest first."""
    output = Output()
    if is_json:
        output.json({"session": session, "compactions": [_note_json(it) for it in notes]})
        return
    columns = [
        Column("OVERLAY", least=8),
        Column("WHEN", goes=2),
        Column("STRATEGY", goes=3),
        Column("WHY", goes=1),
        Column("COVERED", is_number=True),
        Column("TOKENS", is_number=True),
        Column("STATE"),
    ]
    rows = [
        [
            it.overlay,
            local(it.created_at),
            it.strategy,
            it.reason,
            str(it.covered_tokens),
            str(it.tokens),
            "undone" if it.undone else "in force",
        ]
        for it in notes
    ]
    Table(output, columns).write(rows)
    if not rows:
        note("no compactions")


def _note_json(it: CompactionNote) -> dict[str, Any]:
    return {
        "overlay": it.overlay,
        "reason": it.reason,
        "strategy": it.strategy,
        "tokens": it.tokens,
        "covered_tokens": it.covered_tokens,
        "undone": it.undone,
        "created_at": iso(it.created_at),
    }


def _span(overlay: Overlay) -> str:
    return f"messages {overlay.first.depth} to {overlay.last.depth}"


def _tokens(overlay: Overlay) -> str:
    return f"{overlay.covered_tokens} tokens became {overlay.tokens}"


def _top(entry: Entry) -> int:
    return entry.depth if isinstance(entry, Message) else entry.overlay.first.depth
