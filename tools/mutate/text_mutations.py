"""Mutations of SQL and Lua: comparisons, and numbers that are added or taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mutation import BOUNDARY, COMPARISON, Mutation, Source, Span

IN_SQL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "<>": "="}
IN_LUA = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "=="}
NUMBER = re.compile(r"(?<=[+-] )\d+\b(?!\.)")
NOT_CODE = re.compile(r"""--[^\n]*|'[^'\n]*'|"[^"\n]*\"""")


def in_file(source: Source) -> Iterator[Mutation]:
    """Find those of a whole script, but for its comments and texts."""
    code = NOT_CODE.sub(lambda found: " " * len(found[0]), source.text)
    swaps = IN_LUA if source.path.endswith(".lua") else IN_SQL
    yield from _in_code(source, code, 0, swaps)


def in_text(source: Source, span: Span) -> Iterator[Mutation]:
    """Find those of SQL that stands in a text of a program."""
    yield from _in_code(source, source.text[span.start : span.end], span.start, IN_SQL)


def _in_code(source: Source, code: str, start: int, swaps: dict[str, str]) -> Iterator[Mutation]:
    words = "|".join(sorted(swaps, key=len, reverse=True))
    for found in re.finditer(rf"(?<=\s)(?:{words})(?=\s)", code):
        span = Span(start + found.start(), start + found.end())
        yield source.change(COMPARISON, span, swaps[found[0]], _line_of(source, span))
    for found in NUMBER.finditer(code):
        span = Span(start + found.start(), start + found.end())
        for number in (int(found[0]) - 1, int(found[0]) + 1):
            yield source.change(BOUNDARY, span, str(number), _line_of(source, span))


def _line_of(source: Source, span: Span) -> Span:
    end = source.text.find("\n", span.end)
    start = source.text.rfind("\n", 0, span.start) + 1
    return Span(start, len(source.text) if end < 0 else end)
