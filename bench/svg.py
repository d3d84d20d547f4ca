"""The chart as a picture: one bar for each row, and a line where the bar stands."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from row import Finding

_LINE, _TOP, _LEFT, _WIDTH, _RIGHT = 22, 56, 380, 360, 150
_MOST = 1.5
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    'font-family="sans-serif" font-size="12">'
)
_MARK = (
    '<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" '
    'stroke="black" stroke-dasharray="4 3"/>'
)
_HOLDS, _BROKEN, _NOT_JUDGED = "#2f7d4f", "#b3261e", "#9aa0a6"


def write_svg(path: Path, findings: Sequence[Finding], raw_commit_us: float) -> None:
    """Draw how much of its bar each row uses up."""
    height = _TOP + _LINE * len(findings) + 16
    bar_x = _LEFT + _WIDTH / _MOST
    parts = [
        _HEAD.format(width=_LEFT + _WIDTH + _RIGHT, height=height),
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="20" font-size="14">{escape(_title(raw_commit_us))}</text>',
        f'<text x="{bar_x:.0f}" y="44" text-anchor="middle">the bar</text>',
        *(_row(number, finding) for number, finding in enumerate(findings)),
        _MARK.format(x=bar_x, top=_TOP - 6, bottom=height - 12),
        "</svg>",
    ]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _title(raw_commit_us: float) -> str:
    return f"Share of its bar that each row uses up; one raw commit costs {raw_commit_us:.0f} µs"


def _row(number: int, finding: Finding) -> str:
    y = _TOP + _LINE * number
    width = min(finding.row.used, _MOST) / _MOST * _WIDTH
    return (
        f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(finding.row.work)}</text>'
        f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_LINE - 7}" '
        f'fill="{_colour(finding)}"/>'
        f'<text x="{_LEFT + _WIDTH + 8}" y="{y + 12}">{escape(_said(finding))}</text>'
    )


def _colour(finding: Finding) -> str:
    if not finding.is_judged:
        return _NOT_JUDGED
    return _HOLDS if finding.row.holds else _BROKEN


def _said(finding: Finding) -> str:
    row = finding.row
    unit = "" if row.value == row.ratio else f" {row.unit}"
    sign = "≤" if row.rule == "at most" else "≥"
    judged = "" if finding.is_judged else ", not judged"
    return f"{row.value:.2f} {sign} {row.bar:g}{unit}{judged}"
