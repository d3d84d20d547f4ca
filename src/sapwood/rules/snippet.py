"""The passage of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from .cut import cut_place
from .fold import Folded, fold_with_map, is_latin
from .match import Term, occurrences, stands_at

WIDTH = 160
ELLIPSIS = "…"

_MAX_SPANS = 30  # for each term: enough to choose from, in a text of any length
_MAX_MOVE = 24  # a word that is longer is cut
_SHOWN = re.compile(r"\S")
# Controls, and what turns the direction of all that follows.
_CONTROLS = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNTIDY = re.compile(rf"[\s{_CONTROLS}]{{2,}}|[^\S ]|[{_CONTROLS}]")

_LINES = {ord(char): " " for char in "\n\r\t"}

TextSpan = tuple[int, int]


class Snippet(NamedTuple):
    """A passage, and the (start, end) places of the matches in it."""

    text: str
    marks: list[TextSpan]


def snippet(
    text: str, terms: Sequence[Term], width: int = WIDTH, *, folded: str | None = None
) -> Snippet:
    """Return the passage of about `width` characters that has the most terms near each other.

    Without a match it is the beginning. `folded` is the folded text, when that is known already.
    """
    if len(terms) == 1:
        quick = _quick(text, terms[0], width)
        if quick is not None:
            return quick
    source = fold_with_map(text, folded)
    spans = _spans(source, terms)
    first, last = _densest(spans, width)
    window = _window(source.text, first, last, width)
    return _render(source.text, window, _merged(spans, window, width))


def _quick(text: str, term: Term, width: int) -> Snippet | None:
    """Show a word that stands in the text as it was looked for, between blanks.

    What nearly all that is found looks like, and many times quicker to show.
    """
    word = term.words[0]
    at = stands_at(word, text, 0, term.prefix) if len(term.words) == 1 else -1
    if at < 0 or len(word) > width:
        return None
    start = max(0, min(at - (width - len(word)) // 2, len(text) - width))
    end = min(len(text), start + width)
    if not is_latin(text[start:end]):
        return None
    if start > 0:
        start = text.find(" ", start - 1, min(start + _MAX_MOVE, at)) + 1
    if end < len(text):
        end = text.rfind(" ", max(end - _MAX_MOVE, at + len(word)), end + 1)
    if end < 0 or (start == 0 and at > width):
        return None
    return _shown(text, start, end, term, at - start)


def _shown(text: str, start: int, end: int, term: Term, at: int) -> Snippet | None:
    """Show a window as it is, if it can be; None when it has to be tidied or folded first.

    `at` is where the term stands in it first.
    """
    shown = text[start:end].replace("\n", " ")
    lowered = shown.lower()
    if not shown.isprintable() or "  " in shown or len(lowered) != len(shown):
        return None
    if shown[:1] == " " or shown[-1:] == " ":
        return None
    before = ELLIPSIS if start else ""
    after = ELLIPSIS if end < len(text) else ""
    marks = []
    word, edge = term.words[0], len(before)
    earlier = lowered.find(word)
    at = at if earlier == at else stands_at(word, lowered, 0, term.prefix)
    while at >= 0:
        marks.append((at + edge, at + edge + len(word)))
        at = stands_at(word, lowered, at + len(word), term.prefix)
    return Snippet(f"{before}{shown}{after}", marks)


def _spans(source: Folded, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """Find the terms in the text, as (start, end, which term), in order."""
    found = [
        (start, end, index)
        for index, term in enumerate(terms)
        for start, end in islice(occurrences(term, source.folded), _MAX_SPANS)
    ]
    found.sort()
    if len(source.text) == len(source.folded) and all(
        source.is_same_at(start, end) for start, end, _ in found
    ):
        return found
    offsets = source.offsets()
    if offsets is None:
        return found
    return [(offsets.start(start), offsets.end(end), index) for start, end, index in found]


def _densest(spans: Sequence[tuple[int, int, int]], width: int) -> TextSpan:
    """Return the ends of the first group of spans with the most distinct terms within a width."""
    best, most = (0, 0), 0
    inside: dict[int, int] = {}
    left = 0
    for _, end, term in spans:
        inside[term] = inside.get(term, 0) + 1
        while len(inside) > 1 and end - spans[left][0] > width:
            gone = spans[left][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            left += 1
        if len(inside) > most:
            best, most = (spans[left][0], end), len(inside)
    return best


def _window(text: str, first: int, last: int, width: int) -> TextSpan:
    """Choose what to show around a group of matches; cut where words and characters end."""
    last = min(last, first + width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = min(len(text), start + width)
    return (
        cut_place(text, range(start, min(first, start + _MAX_MOVE) + 1), -1),
        cut_place(text, range(end, max(last, end - _MAX_MOVE) - 1, -1), 1),
    )


def _merged(spans: Sequence[tuple[int, int, int]], window: TextSpan, width: int) -> list[TextSpan]:
    """Return the spans in a window; those that overlap become one.

    Of those that it cuts only such as are too wide for any: half a match would mislead.
    """
    merged: list[TextSpan] = []
    for start, end, _ in spans:
        if end - start > width:
            start, end = max(start, window[0]), min(end, window[1])
        if not window[0] <= start < end <= window[1]:
            continue
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


def _render(text: str, window: TextSpan, spans: Sequence[TextSpan]) -> Snippet:
    """Show a window, with an ellipsis where there is more."""
    start, end = window
    before = ELLIPSIS if _SHOWN.search(text, 0, start) else ""
    after = ELLIPSIS if _SHOWN.search(text, end) else ""
    plain = text[start:end]
    if not plain.isprintable():
        plain = plain.translate(_LINES)
    if plain.isprintable() and "  " not in plain:
        shift = len(before) - start - plain.startswith(" ")
        marks = [(first + shift, last + shift) for first, last in spans]
        return Snippet(f"{before}{plain.strip(' ')}{after}", marks)
    shown, marks = _tidied(text, window, spans, before)
    return Snippet(shown + after, marks)


def _tidied(text: str, window: TextSpan, spans: Sequence[TextSpan], shown: str) -> Snippet:
    """Show runs of blanks as one, and no controls, after what is shown already."""
    at, end = window
    edge = len(shown)
    marks: list[TextSpan] = []
    for first, last in spans:
        shown = _add(shown, edge, text[at:first])
        marked = _add(shown, edge, text[first:last])
        if len(marked) > len(shown):
            marks.append((len(shown), len(marked)))
        shown, at = marked, last
    return Snippet(_add(shown, edge, text[at:end]).rstrip(" "), marks)


def _add(shown: str, edge: int, piece: str) -> str:
    """Add tidied text; no blank follows another, or stands at the edge."""
    tidy = _UNTIDY.sub(_tidy, piece)
    if tidy.startswith(" ") and (len(shown) == edge or shown.endswith(" ")):
        tidy = tidy[1:]
    return shown + tidy


def _tidy(found: re.Match[str]) -> str:
    return " " if any(map(str.isspace, found[0])) else ""
