"""Write a session's frozen prompt, and what changed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..context import PromptChange
from ..context.frozen import Frozen, changes_of, frozen_in
from ..rules.fingerprint import digest_of
from ..rules.tokens import estimate_text
from ..session import SessionManager
from .blocks import StoredBlocks
from .output import Output, note
from .passage import write_text
from .records import iso, local
from .table import Column, Table
from .text import clean

KEY = "prompt"
NO_PROMPT = "no prompt is frozen: its program has not called system_prompt or prepare yet"


class StoredPrompt(NamedTuple):
    """The frozen prompt as it is stored, and the log of its changes, the newest first."""

    frozen: Frozen
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
    frozen = frozen_in(document)
    return StoredPrompt(frozen, changes_of(frozen, document.updated_us))


def given_by_program(prompt: StoredPrompt | None, stored: StoredBlocks) -> list[str]:
    """Name the blocks of the prompt of which nothing is stored."""
    known = stored.labels()
    shown = [] if prompt is None else prompt.frozen.blocks
    return [block.label for block in shown if block.span is not None and block.label not in known]


def show_prompt(session: str, prompt: StoredPrompt | None, is_json: bool) -> None:
    """Show the frozen prompt."""
    output = Output()
    if is_json:
        text = None if prompt is None else prompt.frozen.text
        tokens = 0 if prompt is None else prompt.tokens
        output.json({"session": session, "prompt": text, "tokens": tokens})
    elif prompt is None:
        note(NO_PROMPT)
    else:
        write_text(output, prompt.frozen.text)


def show_report(
    session: str, prompt: StoredPrompt | None, stored: StoredBlocks, is_json: bool
) -> None:
    """Show what changed the prompt, when and why, and which blocks changed since."""
    output = Output()
    if is_json:
        output.json({"session": session, **_report_json(prompt, stored)})
    elif prompt is None:
        note(NO_PROMPT)
    else:
        size = len(prompt.frozen.text.encode())
        output.line(f"{prompt.tokens} tokens, {size} bytes")
        changed = changed_since(prompt.frozen, stored)
        if changed:
            names = ", ".join(map(clean, changed))
            output.line(output.style(f"changed since it was frozen: {names}", fg="yellow"))
        output.line()
        _write_changes(output, prompt.changes)


def _report_json(prompt: StoredPrompt | None, stored: StoredBlocks) -> dict[str, Any]:
    if prompt is None:
        return {"frozen": False, "tokens": 0, "bytes": 0, "changed_since": [], "changes": []}
    return {
        "frozen": True,
        "tokens": prompt.tokens,
        "bytes": len(prompt.frozen.text.encode()),
        "changed_since": changed_since(prompt.frozen, stored),
        "changes": [_change_json(it) for it in prompt.changes],
    }


def _change_json(change: PromptChange) -> dict[str, Any]:
    return {
        "reason": change.reason,
        "blocks": change.blocks,
        "first_difference": change.first_difference,
        "tokens": change.tokens,
        "at": iso(change.at),
    }


def changed_since(frozen: Frozen, stored: StoredBlocks) -> list[str]:
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
