"""Write a session's frozen prompt, and what changed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..context import PromptChange
from ..context.prompt_document import PromptDocument, changes_of, prompt_document_in
from ..rules.fingerprint import digest_of
from ..rules.tokens import estimate_text
from ..session import SessionManager
from .blocks import StoredBlocks, stored_blocks
from .output import Output, note
from .records import iso, local
from .table import Column, Table
from .text import clean

KEY = "prompt"
NO_PROMPT = "no prompt is frozen: its program has not called system_prompt or prepare yet"


class StoredPrompt(NamedTuple):
    """The frozen prompt as it is stored, and the log of its changes, the newest first."""

    frozen: PromptDocument
    changes: list[PromptChange]

    @property
    def tokens(self) -> int:
        """What it costs in the context, by the estimate."""
        return estimate_text(self.frozen.text)


def stored_prompt(sessions: SessionManager, session: str) -> StoredPrompt | None:
    """Read the frozen prompt; None when there is none yet."""
    document = sessions.store.find_document(sessions.owner, KEY, session=session)
    if document is None:
        return None
    frozen = prompt_document_in(document)
    return StoredPrompt(frozen, changes_of(frozen, document.updated_us))


def given_by_program(prompt: StoredPrompt | None, stored: StoredBlocks) -> list[str]:
    """Name the blocks of the prompt of which nothing is stored."""
    known = {it.label for it in stored.everything()}
    shown = [] if prompt is None else prompt.frozen.blocks
    return [block.label for block in shown if block.span is not None and block.label not in known]


def show_prompt(sessions: SessionManager, session: str, output: Output) -> None:
    """Show the frozen prompt."""
    prompt = stored_prompt(sessions, session)
    if output.is_json:
        text, tokens = (None, 0) if prompt is None else (prompt.frozen.text, prompt.tokens)
        output.json({"session": session, "prompt": text, "tokens": tokens})
    elif prompt is None:
        note(NO_PROMPT)
    else:
        output.text(prompt.frozen.text)


def show_report(sessions: SessionManager, session: str, output: Output) -> None:
    """Show what changed the prompt, when and why, and which blocks changed since."""
    prompt = stored_prompt(sessions, session)
    if prompt is None:
        nothing = {"frozen": False, "tokens": 0, "bytes": 0, "changed_since": [], "changes": []}
        output.answer({"session": session, **nothing})
        if not output.is_json:
            note(NO_PROMPT)
        return
    size = len(prompt.frozen.text.encode())
    changed = _changed_since(prompt.frozen, stored_blocks(sessions, session))
    if output.is_json:
        changes = [_change_json(it) for it in prompt.changes]
        figures = {"frozen": True, "tokens": prompt.tokens, "bytes": size}
        output.json({"session": session, **figures, "changed_since": changed, "changes": changes})
        return
    output.line(f"{prompt.tokens} tokens, {size} bytes")
    if changed:
        names = ", ".join(map(clean, changed))
        output.line(output.style(f"changed since it was frozen: {names}", fg="yellow"))
    output.line()
    _write_changes(output, prompt.changes)


def _change_json(change: PromptChange) -> dict[str, Any]:
    return {
        "reason": change.reason,
        "blocks": change.blocks,
        "first_difference": change.first_difference,
        "tokens": change.tokens,
        "at": iso(change.at),
    }


def _changed_since(frozen: PromptDocument, stored: StoredBlocks) -> list[str]:
    """Name the blocks whose stored text is not the one that was frozen.

    A label may be stored in several places, and which of them is shown only the program knows: it
    counts as changed when none of them holds what was frozen.
    """
    now: dict[str, set[str]] = {}
    for text in stored.texts:
        # What a program gives by default is not known here, and not taken for a change.
        if text.held.stored.content is not None:
            now.setdefault(text.label, set()).add(digest_of(text.held.stored.content))
    return [
        block.label
        for block in frozen.blocks
        if block.label in now and block.digest not in now[block.label]
    ]


def _write_changes(output: Output, changes: Sequence[PromptChange]) -> None:
    columns = [
        Column("WHEN"),
        Column("WHY", least=7),
        Column("FROM BYTE", is_number=True, goes=1),
        Column("TOKENS", is_number=True, goes=2),
        Column("BLOCKS", least=8),
    ]
    rows = [
        [
            local(it.at),
            it.reason,
            "" if it.first_difference is None else str(it.first_difference),
            str(it.tokens),
            ", ".join(it.blocks),
        ]
        for it in changes
    ]
    Table(output, columns).write(rows)
