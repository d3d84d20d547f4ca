"""Answers of the commands that look: branches, tree, context, search, usage."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...model import CompactEvent, Hits, Leaf, Message, Overlay, Root, UsageTotal
from ..commands.search import hit_json, marked
from ..output import Output
from ..records import brief, local, overlay_json
from ..text import clean, shorten
from ..tree_output import show_tree, tree_json
from ..tree_view import TreePage, read_view
from .conversation import BlockReport, ContextReport, Conversation
from .screen import Screen

RECENT = 4
TREE_LIMIT = 50
WIDTH_IN_A_PIPE = 200


def show_branches(screen: Screen, leaves: Sequence[Leaf], tip: str | Root) -> None:
    """List the ends of branches, numbered; a star marks the one that goes on."""
    lines, width = [], Output().width or WIDTH_IN_A_PIPE
    for number, leaf in enumerate(leaves, 1):
        mark = "*" if leaf.id == tip else " "
        said = "(deleted)" if leaf.message is None else brief(leaf.message)
        lines.append(shorten(f"{mark} {number}  {said}", width))
    ids = [{"number": n, "id": it.id, "is_tip": it.id == tip} for n, it in enumerate(leaves, 1)]
    screen.show("branches", {"branches": ids}, lines or ["no branches: nothing was said yet"])


def show_place(screen: Screen, tip: str | Root, last: Sequence[Message]) -> None:
    """Show where the conversation goes on."""
    where = f"after {clean(last[0].role)}: {brief(last[0])}" if last else "at its beginning"
    line = shorten(f"it goes on {where}", Output().width or WIDTH_IN_A_PIPE)
    screen.show("moved", {"tip": tip if isinstance(tip, str) else None}, [line])


def show_tree_of(screen: Screen, conversation: Conversation) -> None:
    """Draw the conversation as `sapwood show` does."""
    record, page = conversation.record(), TreePage(None, TREE_LIMIT, None)
    if screen.is_json:
        view = read_view(conversation.sessions, record, page)
        screen.show("tree", tree_json(record, view), [])
    else:
        show_tree(conversation.sessions, record, page, is_json=False, has_ids=None)


def show_context(screen: Screen, report: ContextReport) -> None:
    """Show what the model is shown, in figures."""
    budget = "" if report.budget is None else f" of {report.budget}"
    lines = [
        f"{report.tokens}{budget} tokens shown",
        f"{report.messages} messages and {report.summaries} summaries",
        *(_block_line(it) for it in report.blocks),
    ]
    screen.show("context", msgspec.to_builtins(report), lines)


def _block_line(block: BlockReport) -> str:
    limit = "" if block.max_tokens is None else f" of {block.max_tokens}"
    return f"{clean(block.label)}: {block.tokens}{limit} tokens"


def tell_compaction(screen: Screen, event: CompactEvent) -> None:
    """Report a compaction that nobody asked for."""
    if event.phase == "started":
        screen.note("there is much to be shown to the model: a summary of the older part is made")
    elif event.phase == "done" and event.overlay is not None:
        screen.note(_compacted(event.overlay))
    else:
        screen.note(f"no summary was made: {clean(event.reason)}")


def show_compacted(screen: Screen, overlay: Overlay) -> None:
    """Show what a summary stands for now."""
    screen.show("compacted", overlay_json(overlay), [_compacted(overlay)])


def _compacted(overlay: Overlay) -> str:
    span = f"messages {overlay.first.depth} to {overlay.last.depth}"
    saved = f"{overlay.covered_tokens} tokens became {overlay.tokens}"
    return f"a summary stands for {span}: {saved}; nothing was deleted"


def show_hits(screen: Screen, found: Hits) -> None:
    """List what was found."""
    output = Output()
    lines = []
    for hit in found.hits:
        lines.append(output.style(f"{clean(hit.role)}  {local(hit.created_at)}", fg="cyan"))
        lines.append(f"  {marked(output, hit.snippet, hit.marks)}")
    value = {"hits": [hit_json(hit) for hit in found.hits], "more": found.more}
    screen.show("search", value, lines or ["nothing found"])


def show_usage(screen: Screen, totals: Sequence[UsageTotal]) -> None:
    """List what each model was asked, and for how many tokens."""
    lines = [
        f"{clean(it.model)}  {it.calls} calls  {it.input_tokens} in ({it.cached_tokens} cached)  "
        f"{it.output_tokens} out ({it.reasoning_tokens} reasoning)"
        for it in totals
    ]
    value = {"models": [msgspec.structs.asdict(it) for it in totals]}
    screen.show("usage", value, lines or ["no model was asked yet"])
