"""A heading and a text under it, in full."""

from __future__ import annotations

from .output import Output
from .text import clean_block, shorten, wrap

INDENT = "  "


def write_passage(output: Output, head: str, text: str, colour: str) -> None:
    """Write a heading, and a text under it that is wrapped to the terminal's width."""
    output.line(output.style(shorten(head, output.width), fg=colour, bold=True))
    write_text(output, text, INDENT)
    output.line()


def write_text(output: Output, text: str, indent: str = "") -> None:
    """Write a text in full, wrapped to the terminal's width."""
    width = None if output.width is None else output.width - len(indent)
    for line in clean_block(text).split("\n"):
        for piece in wrap(line, width):
            output.line(f"{indent}{piece}")
