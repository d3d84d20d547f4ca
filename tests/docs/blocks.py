"""The fenced blocks of a Markdown page."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


class Block(NamedTuple):
    """A fenced block, and the line of the page where its text begins."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


def blocks_of(page: Path) -> list[Block]:
    """Give the blocks of a page, in order; a fence that is never closed is an error."""
    found: list[Block] = []
    lines = page.read_text().splitlines()
    start: int | None = None
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("```"):
            continue
        if start is None:
            start = number
        else:
            language = lines[start - 1].strip().removeprefix("```")
            text = "\n".join(lines[start : number - 1]) + "\n"
            found.append(Block(page, start + 1, language, text))
            start = None
    assert start is None, f"{name_of(page)}:{start}: the block is not closed"
    return found
