"""Write stored blocks: as a list, one in full, or its versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..context import BlockVersion
from ..context.block import versions_of
from ..model import datetime_of
from ..rules.tokens import estimate_text
from .blocks import BlockPlace, StoredBlockEntry, StoredBlocks, StoredTextBlock
from .output import Output
from .passage import write_passage
from .records import iso, local
from .table import Column, Table
from .text import clean, shorten

TEXT_IN_A_PIPE = 200
DEFAULT = "(what its program gives it)"


def text_json(text: StoredTextBlock) -> dict[str, Any]:
    """Return a block of text; a content of null is the default, which its program knows."""
    held = text.held
    return {
        "label": text.label,
        "scope": text.place.scope,
        "agent": text.place.agent,
        "content": held.stored.content,
        "tokens": _tokens(held.stored.content),
        "version": held.version,
        "origin": held.stored.origin,
        "by": held.stored.by,
        "updated_at": iso(datetime_of(held.updated_us)),
    }


def entry_json(entry: StoredBlockEntry) -> dict[str, Any]:
    """Return an entry of a block."""
    it = entry.entry
    return {
        "label": entry.label,
        "scope": entry.place.scope,
        "agent": entry.place.agent,
        "key": it.key,
        "description": it.description,
        "content": it.content,
        "tokens": _tokens(it.content),
        "origin": it.origin,
        "by": it.by,
        "updated_at": iso(it.updated_at),
    }


def blocks_json(stored: StoredBlocks) -> dict[str, Any]:
    """Return all that is stored."""
    return {
        "blocks": [text_json(it) for it in stored.texts],
        "entries": [entry_json(it) for it in stored.entries],
    }


def write_list(output: Output, stored: StoredBlocks) -> None:
    """Write a line for each block."""
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
    grouped: dict[tuple[str, BlockPlace], list[StoredBlockEntry]] = {}
    for entry in entries:
        grouped.setdefault((entry.label, entry.place), []).append(entry)
    return [_group_row(label, place, group) for (label, place), group in grouped.items()]


def _group_row(label: str, place: BlockPlace, group: Sequence[StoredBlockEntry]) -> list[str]:
    tokens = sum(_tokens(it.entry.content) for it in group)
    newest = max(group, key=lambda it: it.entry.updated_us).entry
    what = f"{len(group)} entr{'y' if len(group) == 1 else 'ies'}"
    changed = local(newest.updated_at)
    return [label, str(place), "", str(tokens), newest.origin, changed, what]


def write_one(output: Output, stored: StoredBlocks) -> None:
    """Write a block in full, or its entries."""
    for text in stored.texts:
        held = text.held
        head = (
            f"{clean(text.label)}  {clean(str(text.place))}  version {held.version}  "
            f"{_tokens(held.stored.content)} tokens  {_origin(held.stored.origin, held.stored.by)}"
        )
        content = held.stored.content
        write_passage(output, head, DEFAULT if content is None else content, "cyan")
    for entry in stored.entries:
        it = entry.entry
        head = f"{clean(it.key)}  {_tokens(it.content)} tokens  {_origin(it.origin, it.by)}"
        said = it.content if it.description is None else f"{it.description}\n\n{it.content}"
        write_passage(output, head, said, "cyan")


def versions_json(text: StoredTextBlock) -> dict[str, Any]:
    """Return what a block held."""
    return {
        "label": text.label,
        "scope": text.place.scope,
        "agent": text.place.agent,
        "versions": [_version_json(it) for it in versions_of(text.held, None)],
    }


def _version_json(version: BlockVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "content": version.content,
        "tokens": _tokens(version.content),
        "origin": version.origin,
        "by": version.by,
        "undone": version.undone,
        "at": iso(version.at),
    }


def write_versions(output: Output, text: StoredTextBlock) -> None:
    """Write what a block held, the newest first."""
    for version in versions_of(text.held, None):
        head = (
            f"version {version.version}  {local(version.at)}  "
            f"{_origin(version.origin, version.by)}{'  taken back' if version.undone else ''}"
        )
        write_passage(output, head, version.content or DEFAULT, "cyan")


def _origin(origin: str, by: str | None) -> str:
    return f"by {clean(origin)}" + (f" in {clean(by)}" if by else "")


def _tokens(content: str | None) -> int:
    return estimate_text(content or "")
