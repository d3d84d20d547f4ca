"""What the model is told of blocks that changed since its prompt was frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

SMALL = 500
INTRODUCTION = "These blocks of the system prompt have changed since it was written:"


class BlockUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A block that changed. `before` is None when it was not in the prompt or could not be read."""

    label: str
    before: str | None
    now: str | None
    heading: str = ""


def describe_updates(changes: Sequence[BlockUpdate], count: Callable[[str], int]) -> str:
    """Describe changes; nothing when there are none."""
    if not changes:
        return ""
    return "\n\n".join([INTRODUCTION, *(_told(change, count) for change in changes)])


def _told(change: BlockUpdate, count: Callable[[str], int]) -> str:
    if change.now is None:
        return f"{change.label.upper()} is no longer there."
    if not change.now:
        return f"{change.heading}\nThis block is empty now."
    if count(change.now) <= SMALL:
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
    if count(text) <= SMALL:
        return text
    # About as many characters as a small text has, whatever the script.
    most = max(1, len(text) * SMALL // max(1, count(text)))
    return f"{text[:most]}… [{len(text) - most} more characters]"
