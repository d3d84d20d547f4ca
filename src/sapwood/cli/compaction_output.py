"""Write what a compaction did, would do, or did in the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..model import Compaction, CompactionNote, CompactionPreview, Overlay
from ..rules.wording import counted
from .output import Column, Output, Table, clean, note
from .records import fields_of, iso, local, overlay_json, saving_of, span, span_of, top_of
from .short_ids import short

if TYPE_CHECKING:
    from ..compaction import CompactFunction

NOTHING = "there is nothing to cover"


def show_outcome(session: str, done: Compaction, function: CompactFunction, output: Output) -> None:
    """Write how a compaction ended."""
    overlay = done.overlay
    if output.is_json:
        names = ("status", "reason", "overlay", "tokens_before", "tokens_after")
        value = {"session": session, **fields_of(done, *names)}
        output.json({**value, "overlay": overlay and overlay_json(overlay)})
        return
    if overlay is None:
        _write_refusal(done.reason, function, output)
        return
    output.line(f"{clean(short(overlay.id))}  {saving_of(overlay)}")
    reason = overlay.metadata.get("compaction", {}).get("reason")
    if reason:
        note(f"a digest, because {clean(reason)}")
    tokens = counted(done.tokens_after, "token")
    output.line(f"the context has {tokens}, and had {done.tokens_before}")


def _write_refusal(reason: str, function: CompactFunction, output: Output) -> None:
    """Write why nothing is covered, and how more is, unless nothing is kept at either end."""
    output.line(f"{output.style('refused', fg='yellow')}: {clean(reason)}")
    if function.tail_token_budget or function.protect_head:
        note("a smaller --keep-tokens or --head covers more")


def show_preview(
    session: str, preview: CompactionPreview | None, function: CompactFunction, output: Output
) -> None:
    """Write what a compaction would cover."""
    strategy = function.strategy
    if output.is_json:
        output.json({"session": session, "strategy": strategy, **_preview_json(preview)})
    elif preview is None:
        _write_refusal(NOTHING, function, output)
    else:
        first, last = top_of(preview.entries[0]), preview.entries[-1].depth
        tokens = counted(preview.tokens, "token")
        output.line(
            f"{strategy} of {span(first, last)}: {tokens} would become about "
            f"{preview.target_tokens}"
        )
        if preview.prompt:
            output.line()
            output.text(preview.prompt)


def _preview_json(preview: CompactionPreview | None) -> dict[str, Any]:
    if preview is None:
        return {"status": "refused", "reason": NOTHING, "covers": None, "prompt": ""}
    covers = {
        "first": top_of(preview.entries[0]),
        "last": preview.entries[-1].depth,
        "entries": len(preview.entries),
        "tokens": preview.tokens,
        "target_tokens": preview.target_tokens,
    }
    return {"status": "possible", "reason": "", "covers": covers, "prompt": preview.prompt}


def show_undone(session: str, overlay: Overlay, output: Output) -> None:
    """Write which compaction was taken back."""
    shown = "is" if overlay.first.depth == overlay.last.depth else "are"
    line = f"undone {clean(short(overlay.id))}: {span_of(overlay)} {shown} shown again"
    output.answer({"session": session, "undone": overlay_json(overlay)}, line)


def show_list(session: str, notes: Sequence[CompactionNote], output: Output) -> None:
    """List the compactions of the past, the oldest first."""
    if output.is_json:
        names = ("overlay", "reason", "strategy", "tokens", "covered_tokens", "undone")
        compactions = [{**fields_of(it, *names), "created_at": iso(it.created_at)} for it in notes]
        output.json({"session": session, "compactions": compactions})
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
            short(it.overlay),
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
