"""The lines between dashes at the top of a Markdown file: `name: value`, as skills have them.

A small part of YAML: plain and quoted values, values that go on in indented lines, and the block
forms `|` and `>`. Nested values are passed over.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"---[ \t]*\Z")
_FIELD = re.compile(r"([A-Za-z_][\w-]*):(?:[ \t]+(.*))?\Z")
_BLOCK = re.compile(r"[|>][+-]?\Z")


class MarkdownPage(NamedTuple):
    """What stands between the dashes, and the text after them."""

    fields: dict[str, str]
    body: str


def read_page(text: str) -> MarkdownPage:
    """Read a page; without dashes at its top, or without their end, all of it is text."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = _end_of(lines)
    if end is None:
        return MarkdownPage({}, "\n".join(lines))
    return MarkdownPage(_fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip("\n"))


def _end_of(lines: list[str]) -> int | None:
    if not _FENCE.match(lines[0]):
        return None
    return next((at for at in range(1, len(lines)) if _FENCE.match(lines[at])), None)


def _fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    at = 0
    while at < len(lines):
        found = _FIELD.match(lines[at])
        at += 1
        if found is None:
            continue
        first = at
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t"):
            at += 1
        fields[found[1]] = _value((found[2] or "").strip(), lines[first:at])
    return fields


def _value(first: str, more: list[str]) -> str:
    indented = [line.strip() for line in more]
    if _BLOCK.match(first):
        return ("\n" if first[0] == "|" else " ").join(indented).strip()
    return _unquoted(" ".join([first, *indented]).strip())


def _unquoted(value: str) -> str:
    for quote in "\"'":
        if len(value) > 1 and value[0] == value[-1] == quote:
            inner = value[1:-1]
            return inner.replace("''", "'") if quote == "'" else inner.replace('\\"', '"')
    return value.partition(" #")[0].rstrip()
