"""What is told: a line for each row as it is measured, a table, a chart, a file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec
from row import JUDGED_FROM_US, Finding, Row

_BAR_CELLS = 40
_CHART_SHARE = 1.5
_HEAD = ("work", "ours", "raw", "p50", "p99", "ops/s", "ratio", "bar", "")


def line(finding: Finding) -> str:
    """Return a row in one line."""
    work, ours, raw, *_, ratio, bar, verdict = _cells(finding)
    return f"{work}: ours {ours}, raw {raw}, ratio {ratio}, bar {bar}: {verdict}"


def table(findings: Sequence[Finding]) -> str:
    """Set the rows as a table."""
    cells = [_HEAD, *(_cells(finding) for finding in findings)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    ruler = tuple("-" * width for width in widths)
    return "\n".join(_set(line, widths) for line in (cells[0], ruler, *cells[1:]))


def _set(cells: Sequence[str], widths: Sequence[int]) -> str:
    left = cells[0].ljust(widths[0])
    middle = (cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1], strict=True))
    return "  ".join((left, *middle, cells[-1])).rstrip()


def _cells(finding: Finding) -> tuple[str, ...]:
    row = finding.row
    is_ratio = row.value == row.ratio
    sign = "≤" if row.rule == "at most" else "≥"
    return (
        row.work,
        _figure(row.ours, row.unit),
        _figure(row.raw, row.unit),
        "" if row.p50_us is None else _figure(row.p50_us, "µs"),
        "" if row.p99_us is None else _figure(row.p99_us, "µs"),
        "" if row.per_s is None else f"{row.per_s:,.0f}",
        f"{row.ratio:.2f}" if is_ratio else f"+{row.value:.1f} {row.unit}",
        f"{sign} {row.bar:g}" if is_ratio else f"{sign} {row.bar:g} {row.unit}",
        finding.verdict,
    )


def _figure(value: float, unit: str) -> str:
    return f"{value:,.1f} {unit}" if value < 1_000 else f"{value:,.0f} {unit}"


def chart(rows: Sequence[Row]) -> str:
    """Draw how much of each bar is used up; the bar stands where 100 % is."""
    width = max(len(row.work) for row in rows)
    head = f"{'':{width}}  share of the bar that is used up, | is the bar"
    return "\n".join([head, *(f"{row.work:{width}}  {_drawn(row.used)}" for row in rows)])


def _drawn(used: float) -> str:
    mark = round(_BAR_CELLS / _CHART_SHARE)
    filled = min(round(used * mark), _BAR_CELLS)
    cells = list("█" * filled + " " * (_BAR_CELLS - filled))
    cells[mark] = "┃" if filled > mark else "|"
    more = "+" if used > _CHART_SHARE else " "
    return f"{''.join(cells)}{more} {used:6.0%}"


def write_json(
    path: Path, findings: Sequence[Finding], raw_commit_us: float, measured_on: dict[str, Any]
) -> None:
    """Write what was measured."""
    found = {
        "machine": measured_on,
        "raw_commit_us": raw_commit_us,
        "judged_from_us": JUDGED_FROM_US,
        "rows": [_plain(finding) for finding in findings],
    }
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _plain(finding: Finding) -> dict[str, Any]:
    row = finding.row
    return {
        "work": row.work,
        "unit": row.unit,
        "ours": row.ours,
        "raw": row.raw,
        "ratio": row.ratio,
        "value": row.value,
        "rule": row.rule,
        "bar": row.bar,
        "holds": row.holds,
        "judged": finding.is_judged,
        "p50_us": row.p50_us,
        "p99_us": row.p99_us,
        "per_s": row.per_s,
        "raw_commit_us": finding.raw_commit_us,
    }


def machine() -> dict[str, Any]:
    """Return what it was measured on."""
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "apsw": apsw.apsw_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "msgspec": msgspec.__version__,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
