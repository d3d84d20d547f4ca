"""Answers in a terminal: Markdown as it streams in, and under it how full the context is.

What is complete is written once, above the rest. Only the last block is drawn again while it grows,
and no more of it than fits, so that nothing jumps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment, Segments
from rich.text import Text

from ..output import clean_block
from .meter import Reading
from .screen import Screen

REDRAWS_A_SECOND = 8
# The meter, and where the cursor stands.
OTHER_LINES = 3
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class MarkdownScreen(Screen):
    """Draws what the model says."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(highlight=False)
        self._live: Live | None = None
        self._text = ""
        self._reading = Reading(tokens=0)

    def asking(self, reading: Reading) -> None:
        """Show the meter while the model is waited for."""
        self._reading = reading
        self._begin()

    def text(self, id: str | None, text: str) -> None:
        """Add a piece; blocks that are complete by it are written for good."""
        done, self._text = split_blocks(self._text + clean_block(text))
        live = self._begin()
        if done:
            live.console.print(_markdown(done), end="\n\n")

    def thought(self, id: str | None, text: str) -> None:
        """Show a piece of what the model thinks."""
        self.settle()
        super().thought(id, text)

    def settle(self) -> None:
        """Write for good what is drawn."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._text.strip():
            self._console.print(_markdown(self._text))
        self._text = ""

    def _end_line(self) -> None:
        self.settle()
        super()._end_line()

    def _begin(self) -> Live:
        if self._live is None:
            super()._end_line()
            self._live = Live(
                get_renderable=lambda: self._frame,
                console=self._console,
                refresh_per_second=REDRAWS_A_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            # A chat that is killed must not leave a terminal without a cursor.
            self._console.show_cursor(True)
        return self._live

    @property
    def _frame(self) -> RenderableType:
        return _Frame(self._text, self._reading.line)


class _Frame:
    """The end of what grows, and the meter."""

    def __init__(self, text: str, meter: str) -> None:
        self._text = text
        self._meter = meter

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        lines = console.render_lines(_markdown(self._text), options, pad=False)
        room = max(1, options.size.height - OTHER_LINES)
        for line in lines[-room:]:
            yield Segments([*line, Segment.line()])
        yield Text(self._meter, style="dim", overflow="ellipsis", no_wrap=True)


def _markdown(text: str) -> Markdown:
    # The address of a link is written out: what is behind a word is not to be trusted.
    return Markdown(text, hyperlinks=False)


def split_blocks(text: str) -> tuple[str, str]:
    """Part a text where its last block begins: what is before that does not change any more.

    A block begins after an empty line, outside of code, where nothing is indented.
    """
    fence, start, at, is_after_gap = "", 0, 0, False
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if is_after_gap and not fence and not line[:1].isspace():
            start = at
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not line[found.end() :].strip():
            fence = ""
        is_after_gap = not line.strip()
        at += len(line)
    return text[:start].rstrip(), text[start:]
