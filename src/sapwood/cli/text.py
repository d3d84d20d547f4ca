"""Text that is safe to print, measured in the cells of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

ELLIPSIS = "…"
# A single line never needs more: what is longer is not cleaned to its end only to be cut.
MOST_CHARACTERS = 4_000

_SPACES = dict.fromkeys(map(ord, "\t\n\r\x0b\x0c\x85\u2028\u2029"), " ")
# An escape sequence in a message must not reach the terminal, nor may text run backwards.
_CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\u2421",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
}
_BIDI = {
    code: f"\\u{code:04x}"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_LINE = {**_CONTROLS, **_BIDI, **_SPACES}
_BLOCK = {**_CONTROLS, **_BIDI, 0x0D: None, 0x09: "    ", 0x0A: "\n", 0x2028: "\n", 0x2029: "\n"}


# Latin letters, and what trees are drawn with: one cell each, and no table has to be loaded.
_is_narrow = re.compile(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u2026\u2190-\u2193\u22ee\u2400-\u2421\u2500-\u25cf]*"
).fullmatch


def clean(text: str) -> str:
    """Make text into one line, with every control character shown and none carried out."""
    return " ".join(clean_line(text).split())


def clean_line(text: str) -> str:
    """Make text into one line as `clean` does, and keep its spaces."""
    return text[:MOST_CHARACTERS].translate(_LINE)


def clean_block(text: str) -> str:
    """Make text safe to print, and keep its lines."""
    return text.translate(_BLOCK)


def width_of(text: str) -> int:
    """Count the cells that text takes; East Asian characters and most emoji take two."""
    if _is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, width: int | None) -> str:
    """Cut text to a number of cells, and show that it was cut."""
    if width is None or width_of(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    if _is_narrow(text):
        return text[: width - 1].rstrip() + ELLIPSIS
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def wrap(text: str, width: int | None) -> Iterator[str]:
    """Break a line between words, or where a word is too long in it, to a number of cells."""
    while width is not None and width_of(text) > max(width, 2):
        piece = _beginning(text, max(width, 2))
        at = len(piece) if text[len(piece)] == " " else piece.rfind(" ")
        # Spaces that a line begins with are no place to break it.
        if at <= 0 or not piece[:at].strip():
            at = len(piece)
        yield text[:at]
        text = text[at:].removeprefix(" ")
    yield text


def _beginning(text: str, width: int) -> str:
    if _is_narrow(text, 0, width):
        return text[:width]
    from rich.cells import chop_cells

    # A few marks without a width of their own may stand on each character.
    return chop_cells(text[: 8 * width], width)[0] or text[0]


def pad(text: str, width: int) -> str:
    """Fill text up with spaces to a number of cells."""
    return text + " " * max(0, width - width_of(text))
