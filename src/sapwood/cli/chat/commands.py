"""What begins with a slash: commands to the chat itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...errors import UsageError
from ...model import SessionRecord, Summary
from ...rules.wording import counted
from ..hit_output import hit_lines, hits_json
from ..output import Output, clean, shorten
from ..records import brief, out_of, overlay_json
from ..tree_output import TreePage, read_view, show_tree, tree_json
from .conversation import new_conversation
from .meter import dollars
from .screen import summary_note

if TYPE_CHECKING:
    from .loop import Chat

TREE_LIMIT = 50
WIDTH_IN_A_PIPE = 200


class ChatCommand(NamedTuple):
    """A command: what may follow it, what it does, and how."""

    wants: str
    what: str
    run: Callable[[Chat, str], None]


def run_command(chat: Chat, line: str) -> None:
    """Run a command by its name; one that is not known is told."""
    name, _, rest = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        raise UsageError(
            f"there is no command /{clean(name)}: /help lists them; "
            "a message that begins with a slash is written with two"
        )
    command.run(chat, rest.strip())


def _new(chat: Chat, title: str) -> None:
    chat.enter(new_conversation(chat.sessions, title or None, chat.setup), is_new=True)


def _branch(chat: Chat, number: str) -> None:
    session = chat.conversation.session
    leaves = session.branches()
    if number:
        if not number.isdecimal() or not 0 < int(number) <= len(leaves):
            raise UsageError(f"there is no branch {clean(number)}: /branch lists them")
        _show_place(chat, session.checkout(leaves[int(number) - 1].id))
        return
    tip, width = session.record().tip, Output().width or WIDTH_IN_A_PIPE
    lines = []
    for count, leaf in enumerate(leaves, 1):
        # A star marks the one that goes on.
        mark = "*" if leaf.id == tip else " "
        said = "(deleted)" if leaf.message is None else brief(leaf.message)
        lines.append(shorten(f"{mark} {count}  {said}", width))
    ids = [{"number": n, "id": it.id, "is_tip": it.id == tip} for n, it in enumerate(leaves, 1)]
    chat.screen.show("branches", {"branches": ids}, lines or ["no branches: nothing was said yet"])


def _undo(chat: Chat, rest: str) -> None:
    _show_place(chat, chat.conversation.session.undo())


def _redo(chat: Chat, rest: str) -> None:
    _show_place(chat, chat.conversation.session.redo())


def _show_place(chat: Chat, record: SessionRecord) -> None:
    """Show where the conversation goes on."""
    last = chat.conversation.last_messages(1)
    where = f"after {clean(last[0].role)}: {brief(last[0])}" if last else "at its beginning"
    line = shorten(f"it goes on {where}", Output().width or WIDTH_IN_A_PIPE)
    chat.screen.show("moved", {"tip": record.tip if isinstance(record.tip, str) else None}, [line])


def _again(chat: Chat, rest: str) -> None:
    chat.conversation.ask_again()
    chat.answer(None)


def _tree(chat: Chat, rest: str) -> None:
    record, page = chat.conversation.session.record(), TreePage(None, TREE_LIMIT, None)
    if chat.screen.is_json:
        view = read_view(chat.sessions, record, page)
        chat.screen.show("tree", tree_json(record, view), [])
    else:
        show_tree(chat.sessions, record, page, Output(), has_ids=None)


def _context(chat: Chat, rest: str) -> None:
    session = chat.conversation.another_handle()
    history, budget = session.history(), session.record().budget
    messages = len(history.messages_only)
    summaries = sum(isinstance(entry, Summary) for entry in history.entries)
    # Those of the prompt and the tools, too.
    tokens = session.context_tokens()
    blocks = session.context_blocks()
    block_values = [
        {"label": it.label, "tokens": it.tokens, "max_tokens": it.max_tokens} for it in blocks
    ]
    counts = {"messages": messages, "summaries": summaries, "tokens": tokens, "budget": budget}
    counts["window"] = chat.meter.window
    lines = [
        f"{out_of(tokens, budget or chat.meter.window, 'token')} shown",
        f"{counted(messages, 'message')} and {counted(summaries, 'summary', 'summaries')}",
        *(f"{clean(it.label)}: {out_of(it.tokens, it.max_tokens, 'token')}" for it in blocks),
    ]
    chat.screen.show("context", {**counts, "blocks": block_values}, lines)


def _compact(chat: Chat, focus: str) -> None:
    overlay = chat.conversation.compact(focus or None)
    chat.screen.show("compacted", overlay_json(overlay), [summary_note(overlay)])


def _search(chat: Chat, query: str) -> None:
    found = chat.conversation.session.search(query)
    lines = hit_lines(Output(), found, has_names=False)
    chat.screen.show("search", hits_json(found), lines or ["nothing found"])


def _usage(chat: Chat, rest: str) -> None:
    totals = chat.conversation.session.usage()
    lines = [
        f"{clean(it.model)}  {counted(it.calls, 'call')}  {it.input_tokens} in "
        f"({it.cached_tokens} cached)  {it.output_tokens} out ({it.reasoning_tokens} reasoning)"
        + (f"  {dollars(it.cost_micros)}" if it.cost_micros else "")
        for it in totals
    ]
    value = {"models": [msgspec.structs.asdict(it) for it in totals]}
    chat.screen.show("usage", value, lines or ["no model was asked yet"])


def _help(chat: Chat, rest: str) -> None:
    rows = [(f"/{name} {it.wants}".strip(), it.what) for name, it in COMMANDS.items()]
    lines = [f"{usage:<16}  {what}" for usage, what in rows]
    chat.screen.show("help", {"commands": dict(rows)}, lines)


def _quit(chat: Chat, rest: str) -> None:
    chat.is_over = True


COMMANDS = {
    "new": ChatCommand("[TITLE]", "Begin another conversation.", _new),
    "branch": ChatCommand("[N]", "List the branches, or go on from the end of one.", _branch),
    "undo": ChatCommand("", "Go back to before your last message; it stays in the tree.", _undo),
    "redo": ChatCommand("", "Go forward again, once for each /undo.", _redo),
    "again": ChatCommand("", "Let your last message be answered again, on a branch.", _again),
    "tree": ChatCommand("", "Draw the conversation with its branches.", _tree),
    "context": ChatCommand("", "Show what the model is shown, and how much of it.", _context),
    "compact": ChatCommand(
        "[FOCUS]", "Put a summary in place of all but the last of it.", _compact
    ),
    "search": ChatCommand("QUERY", "Search what was said in this conversation.", _search),
    "usage": ChatCommand("", "Show what the model's answers cost.", _usage),
    "help": ChatCommand("", "List these commands.", _help),
    "quit": ChatCommand("", "Leave; so does Ctrl-D.", _quit),
}
