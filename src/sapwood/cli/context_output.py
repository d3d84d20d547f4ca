"""Write what is stored of a session's context: its blocks, its frozen prompt, what changed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..context import BlockEntry, PromptChange
from ..context.block import versions_of
from ..context.prompt_document import PromptDocument, changes_of, prompt_document_in
from ..model import datetime_of
from ..rules.prompt import digest_of
from ..rules.tokens import estimate_text
from ..rules.wording import counted
from ..session import SessionManager
from .blocks import (
    BlockPlace,
    StoredBlockEntry,
    StoredBlocks,
    StoredTextBlock,
    find_blocks,
    no_block,
    stored_blocks,
)
from .output import Column, Output, Table, clean, note, shorten
from .records import fields_of, iso, local
from .short_ids import short

TEXT_IN_A_PIPE = 200
PROMPT_KEY = "prompt"
NO_PROMPT = "no prompt is frozen: its program has not called system_prompt or prepare yet"
DEFAULT = "(what its program gives it)"


def show_list(sessions: SessionManager, session: str, output: Output) -> None:
    """Show all blocks of which something is stored, and name the others of the prompt."""
    stored = stored_blocks(sessions, session)
    others = _given_by_program(_frozen_prompt(sessions, session)[0], stored)
    if output.is_json:
        output.json({"session": session, **_blocks_json(stored), "given_by_program": others})
        return
    columns = [
        Column("BLOCK", least=8),
        Column("SCOPE", least=6, goes=4),
        Column("VERSION", is_number=True, goes=2),
        Column("TOKENS", is_number=True, goes=3),
        Column("BY", goes=1),
        Column("CHANGED", goes=2),
        Column("TEXT", least=10),
    ]
    rows = [_text_row(it) for it in stored.texts] + _entry_rows(stored.entries)
    Table(output, columns).write(rows)
    if not rows:
        note("no blocks are stored")
    if others:
        names = ", ".join(map(clean, others))
        note(f"given by the program, see --prompt: {names}")


def show_block(
    sessions: SessionManager,
    session: str,
    label: str,
    place: BlockPlace | None,
    has_versions: bool,
    output: Output,
) -> None:
    """Show what is stored under a label in full, or what the block held, the newest first."""
    stored = find_blocks(sessions, session, label, place)
    if not stored.texts and (has_versions or not stored.entries):
        raise no_block(session, label)
    if has_versions:
        _show_versions(session, stored.texts[0], output)
    elif output.is_json:
        output.json({"session": session, **_blocks_json(stored)})
    else:
        _write(output, stored)


def show_change(text: StoredTextBlock, output: Output) -> None:
    """Show what a block has become."""
    value = _text_json(text)
    figures = f"version {value['version']}, {counted(value['tokens'], 'token')}"
    output.answer(value, f"{clean(text.label)}  {figures}")


def _text_json(text: StoredTextBlock) -> dict[str, Any]:
    """Return a block of text; a content of null is the default, which its program knows."""
    held = text.held
    return {
        **_name_json(text),
        "content": held.stored.content,
        "tokens": _tokens(held.stored.content),
        "version": held.version,
        "origin": held.stored.origin,
        "by": held.stored.by,
        "updated_at": iso(datetime_of(held.updated_us)),
    }


def _entry_json(entry: StoredBlockEntry) -> dict[str, Any]:
    it = entry.entry
    return {
        **_name_json(entry),
        **fields_of(it, "key", "description", "content"),
        "tokens": _tokens(it.content),
        **fields_of(it, "origin", "by"),
        "updated_at": iso(it.updated_at),
    }


def _name_json(stored: StoredTextBlock | StoredBlockEntry) -> dict[str, Any]:
    return {"label": stored.label, "scope": stored.place.scope, "agent": stored.place.agent}


def _blocks_json(stored: StoredBlocks) -> dict[str, Any]:
    return {
        "blocks": [_text_json(it) for it in stored.texts],
        "entries": [_entry_json(it) for it in stored.entries],
    }


def _text_row(text: StoredTextBlock) -> list[str]:
    held = text.held
    content = DEFAULT if held.stored.content is None else held.stored.content
    return [
        text.label,
        str(text.place),
        str(held.version),
        str(_tokens(held.stored.content)),
        held.stored.origin,
        local(datetime_of(held.updated_us)),
        shorten(clean(content), TEXT_IN_A_PIPE),
    ]


def _entry_rows(entries: Sequence[StoredBlockEntry]) -> list[list[str]]:
    """Return a row for each block that has entries."""
    grouped: dict[tuple[str, BlockPlace], list[BlockEntry]] = {}
    for entry in entries:
        grouped.setdefault((entry.label, entry.place), []).append(entry.entry)
    rows = []
    for (label, place), group in grouped.items():
        tokens = sum(_tokens(it.content) for it in group)
        newest = max(group, key=lambda it: it.updated_us)
        what = counted(len(group), "entry", "entries")
        changed = local(newest.updated_at)
        rows.append([label, str(place), "", str(tokens), newest.origin, changed, what])
    return rows


def _write(output: Output, stored: StoredBlocks) -> None:
    for text in stored.texts:
        held = text.held
        content = held.stored.content
        head = (
            f"{clean(text.label)}  {clean(str(text.place))}  version {held.version}  "
            f"{counted(_tokens(content), 'token')}  {_origin(held.stored.origin, held.stored.by)}"
        )
        output.passage(head, DEFAULT if content is None else content, "cyan")
    for entry in stored.entries:
        it = entry.entry
        head = (
            f"{clean(it.key)}  {counted(_tokens(it.content), 'token')}  {_origin(it.origin, it.by)}"
        )
        said = it.content if it.description is None else f"{it.description}\n\n{it.content}"
        output.passage(head, said, "cyan")


def _show_versions(session: str, text: StoredTextBlock, output: Output) -> None:
    versions = versions_of(text.held, None)
    if output.is_json:
        values = [
            {
                **fields_of(it, "version", "content"),
                "tokens": _tokens(it.content),
                **fields_of(it, "origin", "by", "undone"),
                "at": iso(it.at),
            }
            for it in versions
        ]
        output.json({"session": session, **_name_json(text), "versions": values})
        return
    for it in versions:
        taken_back = "  taken back" if it.undone else ""
        head = f"version {it.version}  {local(it.at)}  {_origin(it.origin, it.by)}{taken_back}"
        output.passage(head, it.content or DEFAULT, "cyan")


def _origin(origin: str, by: str | None) -> str:
    return f"by {clean(origin)}" + (f" in {clean(short(by))}" if by else "")


def _tokens(content: str | None) -> int:
    return estimate_text(content or "")


def _frozen_prompt(
    sessions: SessionManager, session: str
) -> tuple[PromptDocument | None, list[PromptChange]]:
    """Read the frozen prompt, if there is one yet, and the log of its changes, the newest first."""
    document = sessions.store.find_document(sessions.owner, PROMPT_KEY, session=session)
    if document is None:
        return None, []
    frozen = prompt_document_in(document)
    return frozen, changes_of(frozen, document.updated_us)


def _given_by_program(frozen: PromptDocument | None, stored: StoredBlocks) -> list[str]:
    """Name the blocks of the prompt of which nothing is stored."""
    known = {it.label for it in stored.everything()}
    shown = [] if frozen is None else frozen.blocks
    return [block.label for block in shown if block.span is not None and block.label not in known]


def show_prompt(sessions: SessionManager, session: str, output: Output) -> None:
    """Show the frozen prompt."""
    frozen, _ = _frozen_prompt(sessions, session)
    text = None if frozen is None else frozen.text
    if output.is_json:
        output.json({"session": session, "prompt": text, "tokens": _tokens(text)})
    elif text is None:
        note(NO_PROMPT)
    else:
        output.text(text)


def show_report(sessions: SessionManager, session: str, output: Output) -> None:
    """Show what changed the prompt, when and why, and which blocks changed since."""
    frozen, changes = _frozen_prompt(sessions, session)
    if frozen is None:
        nothing = {"frozen": False, "tokens": 0, "bytes": 0, "changed_since": [], "changes": []}
        output.answer({"session": session, **nothing})
        if not output.is_json:
            note(NO_PROMPT)
        return
    tokens, size = _tokens(frozen.text), len(frozen.text.encode())
    changed = _changed_since(frozen, stored_blocks(sessions, session))
    if output.is_json:
        names = ("reason", "blocks", "first_difference", "tokens")
        values = [{**fields_of(it, *names), "at": iso(it.at)} for it in changes]
        figures = {"frozen": True, "tokens": tokens, "bytes": size}
        output.json({"session": session, **figures, "changed_since": changed, "changes": values})
        return
    output.line(f"{counted(tokens, 'token')}, {counted(size, 'byte')}")
    if changed:
        labels = ", ".join(map(clean, changed))
        output.line(output.style(f"changed since it was frozen: {labels}", fg="yellow"))
    output.line()
    _write_changes(output, changes)


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
