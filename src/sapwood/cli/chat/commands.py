"""What begins with a slash: commands to the chat itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UsageError
from ...model import SessionRecord
from ..text import clean
from . import reports
from .conversation import new_conversation

if TYPE_CHECKING:
    from .loop import Chat


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
    leaves = chat.conversation.branches()
    if not number:
        reports.show_branches(chat.screen, leaves, chat.conversation.record().tip)
        return
    if not number.isdecimal() or not 0 < int(number) <= len(leaves):
        raise UsageError(f"there is no branch {clean(number)}: /branch lists them")
    _moved(chat, chat.conversation.checkout(leaves[int(number) - 1].id))


def _undo(chat: Chat, rest: str) -> None:
    _moved(chat, chat.conversation.undo())


def _redo(chat: Chat, rest: str) -> None:
    _moved(chat, chat.conversation.redo())


def _moved(chat: Chat, record: SessionRecord) -> None:
    reports.show_place(chat.screen, record.tip, chat.conversation.last_messages(1))


def _again(chat: Chat, rest: str) -> None:
    chat.answer(chat.conversation.last_question())


def _tree(chat: Chat, rest: str) -> None:
    reports.show_tree_of(chat.screen, chat.conversation)


def _context(chat: Chat, rest: str) -> None:
    reports.show_context(chat.screen, chat.conversation.context())


def _compact(chat: Chat, focus: str) -> None:
    overlay = chat.conversation.compact(focus or None)
    reports.show_compacted(chat.screen, overlay)


def _search(chat: Chat, query: str) -> None:
    reports.show_hits(chat.screen, chat.conversation.search(query))


def _usage(chat: Chat, rest: str) -> None:
    reports.show_usage(chat.screen, chat.conversation.usage())


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
    "context": ChatCommand("", "Tell what the model is shown, and how much of it.", _context),
    "compact": ChatCommand(
        "[FOCUS]", "Put a summary in place of all but the last of it.", _compact
    ),
    "search": ChatCommand("QUERY", "Search what was said in this conversation.", _search),
    "usage": ChatCommand("", "Tell what the model's answers cost in tokens.", _usage),
    "help": ChatCommand("", "List these commands.", _help),
    "quit": ChatCommand("", "Leave; so does Ctrl-D.", _quit),
}
