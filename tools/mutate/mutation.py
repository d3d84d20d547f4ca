"""A mutation: one small change of a source, of a kind that people make by mistake."""

from __future__ import annotations

from typing import NamedTuple

COMPARISON = "comparison"
BOUNDARY = "boundary"
DROPPED = "dropped call"
SWAPPED = "swapped argument"
KINDS = (COMPARISON, BOUNDARY, DROPPED, SWAPPED)

MOST_SHOWN = 90
AROUND = 30


class Span(NamedTuple):
    """A piece of a text, by the offsets of its characters."""

    start: int
    end: int


class Mutation(NamedTuple):
    """What stands in place of a span of a file, and how that looks to a reader."""

    kind: str
    path: str
    line: int
    span: Span
    text: str
    was: str
    becomes: str

    @property
    def key(self) -> str:
        """Name it, so that a later run of the same source knows it again."""
        return f"{self.path}:{self.line}+{self.span.start} {self.kind}: {self.was} → {self.becomes}"

    def on(self, source: str) -> str:
        """Return the source with the change made."""
        return source[: self.span.start] + self.text + source[self.span.end :]


class Source(NamedTuple):
    """A file's text, with its path from the root of the project."""

    path: str
    text: str

    def change(self, kind: str, span: Span, text: str, shown: Span) -> Mutation:
        """Make a mutation of a span, shown with what is near it in a wider one."""
        start, end = max(shown.start, span.start - AROUND), min(shown.end, span.end + AROUND)
        before = "…" * (start > shown.start) + self.text[start : span.start]
        after = self.text[span.end : end] + "…" * (end < shown.end)
        line = self.text.count("\n", 0, span.start) + 1
        was = _on_one_line(before + self.text[span.start : span.end] + after)
        return Mutation(kind, self.path, line, span, text, was, _on_one_line(before + text + after))


def _on_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_SHOWN else line[: MOST_SHOWN - 1] + "…"
