"""The chart: one bar for each row on a logarithmic scale, and a line where both are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor, log10
from typing import Any

Row = dict[str, Any]

_LINE, _TOP, _LEFT, _WIDTH, _RIGHT = 17, 58, 260, 420, 110
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    'font-family="sans-serif" font-size="12">'
)
_TITLE = "How many times ours is ahead of each package, on a logarithmic scale"
_AHEAD, _BEHIND = "#2f7d4f", "#b3261e"


class _Scale:
    """Where a ratio stands: the decades from the least to the most."""

    def __init__(self, ratios: Sequence[float]) -> None:
        self.low = min(0, *(floor(log10(it)) for it in ratios))
        self.high = max(1, *(ceil(log10(it)) for it in ratios))

    def x(self, ratio: float) -> float:
        """Return the place of a ratio."""
        share = (log10(ratio) - self.low) / (self.high - self.low)
        return _LEFT + share * _WIDTH

    @property
    def decades(self) -> range:
        """Return the powers of ten that are marked."""
        return range(self.low, self.high + 1)


def draw(rows: Sequence[Row]) -> str:
    """Draw the rows, in groups by work."""
    scale = _Scale([row["ratio"] for row in rows if row["ratio"]] or [1])
    groups = [(work, list(of_work)) for work, of_work in groupby(rows, lambda row: row["work"])]
    height = _TOP + _LINE * (len(rows) + 2 * len(groups)) + 8
    parts = [
        _HEAD.format(width=_LEFT + _WIDTH + _RIGHT, height=height),
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="20" font-size="14">{_TITLE}</text>',
        *(_mark(scale, decade, height) for decade in scale.decades),
        *_groups(scale, groups),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _mark(scale: _Scale, decade: int, height: int) -> str:
    x = scale.x(10.0**decade)
    colour, told = ("black", "equal") if decade == 0 else ("#d5d8dc", f"{10.0**decade:,g}")
    return (
        f'<text x="{x:.1f}" y="44" text-anchor="middle">{told}</text>'
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="50" y2="{height - 8}" stroke="{colour}"/>'
    )


def _groups(scale: _Scale, groups: Sequence[tuple[str, list[Row]]]) -> Iterator[str]:
    y = _TOP
    for work, rows in groups:
        y += _LINE
        yield f'<text x="12" y="{y}" font-weight="bold">{escape(work)}</text>'
        for row in rows:
            yield _bar(scale, row, y + 5)
            y += _LINE
        y += _LINE


def _bar(scale: _Scale, row: Row, y: int) -> str:
    name = f'<text x="{_LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(row["package"])}</text>'
    ratio = row["ratio"]
    if not ratio:
        told = "cannot" if not row["can"] else "ours cannot"
        return f'{name}<text x="{scale.x(1) + 6:.1f}" y="{y + 11}" fill="#6b7075">{told}</text>'
    left, right = sorted((scale.x(1), scale.x(ratio)))
    return (
        f'{name}<rect x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{_LINE - 4}" '
        f'fill="{_AHEAD if row["ahead"] else _BEHIND}"/>'
        f'<text x="{right + 6:.1f}" y="{y + 11}">{ratio:,.{2 if ratio < 10 else 0}f}</text>'
    )
