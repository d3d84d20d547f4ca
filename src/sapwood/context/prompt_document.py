"""The frozen prompt's document, the report of what changed it, and what the model is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from ..errors import StoreCorruptError
from ..model import Document, datetime_of
from ..rules.prompt import BlockSpan, first_difference

KEPT_CHANGES = 20
KEPT_NOTES = 64 * 1024
"""So many characters of notes are kept at most."""
SMALL_BLOCK_TOKENS = 500
UPDATES_INTRODUCTION = "These blocks of the system prompt have changed since it was written:"


class FrozenBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block as it was when the prompt was frozen.

    `config` is the fingerprint of its configuration. No digest means that it could not be read; no
    span that it was empty and not shown.
    """

    label: str
    config: str
    digest: str | None
    version: int | None
    span: BlockSpan | None


class LoggedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the text. The last one has no time: it is that of the document.

    `fingerprint` is that of the configuration it was rendered for.
    """

    reason: str
    tokens: int
    blocks: list[str] = []
    first_difference: int | None = None
    at_us: int | None = None
    fingerprint: str = ""
    alternates: bool = False


class BlockNote(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told of changed blocks along with a message, each time it is shown.

    `blocks` has the digest of what each of them held then, by label.
    """

    message: str
    text: str
    blocks: dict[str, str]


class PromptDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The session's document `prompt`. What is noted is about this text: another has no notes."""

    text: str
    fingerprint: str
    blocks: list[FrozenBlock]
    log: list[LoggedChange]
    notes: list[BlockNote] = []

    def find(self, label: str) -> FrozenBlock | None:
        """Find a block as it was frozen."""
        return next((block for block in self.blocks if block.label == label), None)

    def content_of(self, block: FrozenBlock) -> str | None:
        """Return what a block held when it was frozen; None when it could not be read then."""
        if block.digest is None:
            return None
        return "" if block.span is None else self.text[block.span.content : block.span.end]

    def shown(self) -> dict[str, str]:
        """Return the text of each block, with its heading."""
        return {
            block.label: "" if block.span is None else self.text[block.span.start : block.span.end]
            for block in self.blocks
        }


class PromptChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the prompt's text: when, why, by which blocks.

    `first_difference` is the byte (of UTF-8) from which on the text was another one, so that no
    cache of it held; None for the first text. `alternates` says that somebody with other blocks
    had rendered it for those in between: sessions that are shared need the same blocks everywhere.
    """

    reason: str
    blocks: list[str]
    first_difference: int | None
    tokens: int
    at_us: int
    alternates: bool = False

    @property
    def at(self) -> datetime:
        """When it was written, by the store's clock."""
        return datetime_of(self.at_us)


class CacheReport(msgspec.Struct, frozen=True, kw_only=True):
    """The frozen prompt, and the last changes of it, the newest first.

    `is_current` says that the next freeze keeps it: the configuration is the one it was made from.
    """

    is_frozen: bool
    is_current: bool
    tokens: int
    bytes: int
    changes: list[PromptChange]

    @property
    def alternates(self) -> bool:
        """Whether users of the session with different blocks undo each other's prompt."""
        return any(change.alternates for change in self.changes)


_decode = msgspec.json.Decoder(PromptDocument).decode


def prompt_document_in(document: Document) -> PromptDocument:
    """Read a prompt's document; one that cannot be decoded is `StoreCorruptError`."""
    try:
        return _decode(document.value)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise StoreCorruptError(
            f"document {document.key!r} is no prompt: {error}; a refresh writes it anew"
        ) from error


def is_back(new: PromptDocument, before: PromptDocument | None) -> bool:
    """Whether a prompt is for a configuration that was there before the last one."""
    if before is None or new.fingerprint == before.fingerprint or new.text == before.text:
        return False
    return any(change.fingerprint == new.fingerprint for change in before.log)


def with_log(
    new: PromptDocument, before: PromptDocument | None, before_us: int, change: LoggedChange
) -> PromptDocument:
    """Return a new prompt with the log of the one before, and this change if it is one."""
    change = msgspec.structs.replace(change, fingerprint=new.fingerprint)
    if before is None:
        change = msgspec.structs.replace(change, blocks=_shown(new))
        return msgspec.structs.replace(new, log=[change])
    log = _dated(before, before_us)
    difference = first_difference(before.text, new.text)
    if difference is not None:
        blocks = _changed(before, new)
        log.append(msgspec.structs.replace(change, blocks=blocks, first_difference=difference))
    return msgspec.structs.replace(new, log=log[-KEPT_CHANGES:])


def with_note(frozen: PromptDocument, updated_us: int, note: BlockNote) -> PromptDocument:
    """Add a note. Of too many the older half goes, at the price of one miss in the cache."""
    notes = [*frozen.notes, note]
    while len(notes) > 1 and sum(len(it.text) for it in notes) > KEPT_NOTES:
        notes = notes[len(notes) // 2 :]
    return msgspec.structs.replace(frozen, notes=notes, log=_dated(frozen, updated_us))


def _dated(frozen: PromptDocument, updated_us: int) -> list[LoggedChange]:
    """Return the log, its last change with the time of the document, which is written anew."""
    return [
        msgspec.structs.replace(it, at_us=updated_us) if it.at_us is None else it
        for it in frozen.log
    ]


def changes_of(frozen: PromptDocument, updated_us: int) -> list[PromptChange]:
    """Return the log of a prompt, the newest first."""
    return [
        PromptChange(
            reason=change.reason,
            blocks=change.blocks,
            first_difference=change.first_difference,
            tokens=change.tokens,
            at_us=updated_us if change.at_us is None else change.at_us,
            alternates=change.alternates,
        )
        for change in reversed(frozen.log)
    ]


def _shown(frozen: PromptDocument) -> list[str]:
    return [block.label for block in frozen.blocks if block.span is not None]


def _changed(before: PromptDocument, after: PromptDocument) -> list[str]:
    """Name the blocks that are shown otherwise; when only their order changed, those that moved."""
    old, new = before.shown(), after.shown()
    labels = list(dict.fromkeys([*new, *old]))
    changed = [label for label in labels if old.get(label, "") != new.get(label, "")]
    if changed:
        return changed
    moved = zip(_shown(before), _shown(after), strict=True)
    return [label for was, label in moved if was != label]


class BlockUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A block beside the prompt. `before` is None when it was not in it or could not be read.

    `frozen` is the digest of what the prompt shows of it, and `digest` that of what it holds now.
    """

    label: str
    before: str | None
    now: str | None
    heading: str = ""
    frozen: str | None = None
    digest: str = ""


class PromptStanding(NamedTuple):
    """The frozen prompt as it is stored, and what the blocks hold now."""

    document: Document
    frozen: PromptDocument
    blocks: list[BlockUpdate]


def untold(blocks: Sequence[BlockUpdate], told: Mapping[str, str]) -> list[BlockUpdate]:
    """Return the blocks that hold something else than the model was last told."""
    return [it for it in blocks if it.digest != told.get(it.label, it.frozen)]


def describe_updates(changes: Sequence[BlockUpdate], count: Callable[[str], int]) -> str:
    """Describe changes; nothing when there are none."""
    if not changes:
        return ""
    return "\n\n".join([UPDATES_INTRODUCTION, *(_told(change, count) for change in changes)])


def _told(change: BlockUpdate, count: Callable[[str], int]) -> str:
    if change.now is None:
        return f"{change.label.upper()} is no longer there."
    if not change.now:
        return f"{change.heading}\nThis block is empty now."
    if change.now == change.before:
        return f"{change.heading}\nThis block is again as it stands in the system prompt."
    if count(change.now) <= SMALL_BLOCK_TOKENS:
        return f"{change.heading}\n{change.now}"
    return f"{change.heading}\n{_shortened(change.before, change.now, count)}"


def _shortened(before: str | None, now: str, count: Callable[[str], int]) -> str:
    """Show of a large block only the lines that changed, and of those no more than is small."""
    old, new = (before or "").split("\n"), now.split("\n")
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    gone, lines = len(old) - start - end, new[start : len(new) - end]
    if before is None:
        return _cut(lines, count)
    place = f"after line {start}" if start else "at its beginning"
    if not lines:
        return f"(Removed {place}: {_lines(gone)}.)"
    instead = f" in place of {gone}" if gone else ""
    return f"({_lines(len(lines))} {place}{instead}; the others are as they were.)\n" + _cut(
        lines, count
    )


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _cut(lines: Sequence[str], count: Callable[[str], int]) -> str:
    text = "\n".join(lines)
    if count(text) <= SMALL_BLOCK_TOKENS:
        return text
    # About as many characters as a small text has, whatever the script.
    most = max(1, len(text) * SMALL_BLOCK_TOKENS // max(1, count(text)))
    return f"{text[:most]}… [{len(text) - most} more characters]"
