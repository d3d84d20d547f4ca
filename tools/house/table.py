"""A table of numbers: of the sources as they are, or beside what they were in a commit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sources import SRC, exported

ALL = "in all"
Rows = Mapping[str, Sequence[int]]


def options_of(doc: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--src", type=Path, default=SRC, help="the sources of another checkout")
    parser.add_argument("--base", metavar="COMMIT", help="what to compare with")
    return parser


def show(options: argparse.Namespace, head: Sequence[str], measure: Callable[[Path], Rows]) -> None:
    """Print what is measured, beside what it was before if there is something to compare with."""
    states = [measure(options.src.resolve())]
    if options.base:
        with exported(options.base) as src:
            states.insert(0, measure(src))
    print(*lines(head, *states), "", sep="\n")


def lines(head: Sequence[str], *states: Rows) -> list[str]:
    """Return a line for each row that there is in any state; sums come last."""
    names = sorted({name: None for rows in states for name in rows}, key=lambda name: name == ALL)
    body = [[name, *_cells(name, len(head) - 1, states)] for name in names]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]).rstrip()
        for first, *rest in (head, *body)
    ]


def _cells(name: str, count: int, states: Sequence[Rows]) -> list[str]:
    """Return each number of a row: as it was, an arrow, and as it is."""
    each = [[*map(str, rows.get(name, ())), *[""] * count][:count] for rows in states]
    shown = [" → ".join(it or "-" for it in one) for one in zip(*each, strict=True)]
    return [it if it.strip(" →-") else "" for it in shown]
