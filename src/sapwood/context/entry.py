"""Entries of a block that are kept in the store, and a history without those not loaded now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from ..model import (
    Document,
    ModelMessage,
    OtherPart,
    Part,
    ToolCallPart,
    ToolResultPart,
    datetime_of,
)
from ..rules.codec import decode_stored
from ..rules.fold import fold
from ..rules.match import MessageFacts, Query, matches, terms
from ..rules.relevance import count, is_ranked, scores
from ..rules.snippet import snippet
from .model_tools import LOAD, REFUSED

ResultIndex = tuple[int, int]

MOST_FOUND = 10
WHOLE = 400
SNIPPET = 240
LONGEST_REFUSAL = 500


class LoadedKey(NamedTuple):
    """An entry of a block that is loaded."""

    label: str
    key: str


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry's document."""

    content: str
    description: str | None = None
    origin: str = "user"
    by: str | None = None


class BlockEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as it was read. `origin` says who wrote it, and `by` in which session."""

    key: str
    content: str
    description: str | None
    origin: str
    by: str | None
    updated_us: int

    @property
    def updated_at(self) -> datetime:
        """When it was written, by the store's clock."""
        return datetime_of(self.updated_us)

    @property
    def text(self) -> str:
        """All that is searched."""
        return f"{self.description}\n{self.content}" if self.description else self.content


_decode = msgspec.json.Decoder(StoredEntry).decode


def entry_in(document: Document, prefix: str) -> BlockEntry:
    """Read an entry's document; one that cannot be decoded is `StoreCorruptError`."""
    stored = decode_stored(_decode, document.value, f"document {document.key!r} is no entry")
    return BlockEntry(
        key=document.key.removeprefix(prefix),
        content=stored.content,
        description=stored.description,
        origin=stored.origin,
        by=stored.by,
        updated_us=document.updated_us,
    )


def find_entries(entries: Sequence[BlockEntry], query: Query) -> list[BlockEntry]:
    """Find entries as messages are found: the best first, of equals the newest."""
    newest = sorted(entries, key=lambda entry: (-entry.updated_us, entry.key))
    found = [
        (entry, folded)
        for entry in newest
        if matches(
            query,
            folded := fold(entry.text),
            MessageFacts(role="entry", created_us=entry.updated_us, title=entry.description),
        )
    ]
    if not is_ranked(query):
        return [entry for entry, _ in found]
    wanted = terms(query)
    ranks = scores([count(wanted, folded) for _, folded in found])
    ordered = sorted(zip(ranks, found, strict=True), key=lambda it: -it[0])
    return [entry for _, (entry, _) in ordered]


def show_found(entries: Sequence[BlockEntry], query: Query) -> str | None:
    """Show what was found: short entries whole, of long ones the passage that matches."""
    shown = [f"[{entry.key}] {_passage(entry, query)}" for entry in entries[:MOST_FOUND]]
    if len(entries) > MOST_FOUND:
        shown.append(f"{len(entries) - MOST_FOUND} more were found: say more of what you look for.")
    return "\n\n".join(shown) or None


def _passage(entry: BlockEntry, query: Query) -> str:
    head = f"{entry.description}\n" if entry.description else ""
    if len(entry.content) <= WHOLE:
        return head + entry.content
    return head + snippet(entry.content, terms(query), SNIPPET).text


def elide_unloaded(
    messages: Sequence[ModelMessage], loaded: Collection[tuple[str, str]]
) -> list[ModelMessage]:
    """Put a short mark for each loaded text that is not loaded now, or was loaded again later."""
    results = dict(_results(messages))
    newest = {key: place for place, key in results.items()}
    held = {_same(*key) for key in loaded}
    marks = {
        place: (
            f"[{key.key!r} was loaded again; its text is further down]"
            if key in held
            else f"[{key.key!r} was unloaded; load it again to read it]"
        )
        for place, key in results.items()
        if key not in held or newest[key] != place
    }
    touched = {message for message, _ in marks}
    return [
        _marked(message, index, marks) if index in touched else message
        for index, message in enumerate(messages)
    ]


def _marked(message: ModelMessage, index: int, marks: dict[ResultIndex, str]) -> ModelMessage:
    parts = [
        _replaced(part, marks[index, at]) if (index, at) in marks else part
        for at, part in enumerate(message.parts)
    ]
    return msgspec.structs.replace(message, parts=parts)


def _results(messages: Sequence[ModelMessage]) -> Iterator[tuple[ResultIndex, LoadedKey]]:
    """Find the results that hold an entry's text, in order.

    A result belongs to the nearest call before it: some models use the same call ids every turn.
    """
    called: dict[str, LoadedKey | None] = {}
    for index, message in enumerate(messages):
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart):
                called[part.call_id] = _key_in(part.input) if part.name == LOAD else None
            elif isinstance(part, ToolResultPart):
                key = called.get(part.call_id)
                if key is not None and not part.is_error and _has_text(part.output):
                    yield (index, at), key
            elif isinstance(part, OtherPart):
                key = _key_of(part.value)
                if key is not None:
                    yield (index, at), key


def _key_of(value: dict[str, Any]) -> LoadedKey | None:
    """Read a part of the AI SDK, in which a call and its result are one."""
    kind = value.get("type")
    named = value.get("toolName") == LOAD if kind == "dynamic-tool" else kind == f"tool-{LOAD}"
    if not named or value.get("state", "output-available") != "output-available":
        return None
    return _key_in(value.get("input")) if _has_text(value.get("output")) else None


def _key_in(given: Any) -> LoadedKey | None:
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
    if not isinstance(given, dict):
        return None
    label, key = given.get("label"), given.get("key")
    return _same(label, key) if isinstance(label, str) and isinstance(key, str) else None


def _same(label: str, key: str) -> LoadedKey:
    """Name an entry so that it is the same for a label in capitals, which tools accept."""
    return LoadedKey(label.upper(), key)


def _has_text(output: Any) -> bool:
    """Whether an answer is an entry's text, and not the sentence that there is none."""
    if isinstance(output, str) and len(output) <= LONGEST_REFUSAL:
        return not output.startswith(REFUSED)
    return output is not None


def _replaced(part: Part, mark: str) -> Part:
    if isinstance(part, OtherPart):
        return OtherPart(value={**part.value, "output": mark})
    return msgspec.structs.replace(part, output=mark)
