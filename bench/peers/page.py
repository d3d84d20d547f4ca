"""The page of the documentation, from what was measured. Needs nothing but Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
OURS = "sapwood"

Row = dict[str, Any]

_HEAD = (
    "| package | durability | its figure | sapwood | raw | its to raw | sapwood to raw | ahead |"
)
_RULE = "|---|---|--:|--:|--:|--:|--:|---|"


def write_between(page: Path, text: str) -> None:
    """Put a text, whose first and last lines are the marks, between these marks of a page."""
    begin, *_, end = text.splitlines()
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{text}{after}", encoding="utf-8")


def measured_in(text: str) -> str:
    """Return what stands between the marks of a page, with the marks."""
    return BEGIN + text.partition(BEGIN)[2].partition(END)[0] + END


def measured(found: dict[str, Any]) -> str:
    """Return what was measured, with the marks."""
    parts = [
        BEGIN,
        "![How many times ours is ahead](peers.svg)",
        "\n".join(_machine(found["machine"])),
        "\n".join(_versions(found)),
        *(_work(work, list(rows)) for work, rows in groupby(found["rows"], _work_of)),
        END,
    ]
    return "\n\n".join(parts)


def _work_of(row: Row) -> str:
    return str(row["work"])


def _machine(machine: dict[str, Any]) -> Iterator[str]:
    yield "| machine | |"
    yield "|---|---|"
    for name, value in machine.items():
        yield f"| {name} | {value} |"


def _versions(found: dict[str, Any]) -> Iterator[str]:
    yield "| package | version | durability, by its own defaults | driven by |"
    yield "|---|---|---|---|"
    for side in found["sides"]:
        yield f"| {side['name']} | {side['version']} | {side['durability']} | {side['how']} |"
    others = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    yield f"\nInstalled: {others}."


def _work(work: str, rows: Sequence[Row]) -> str:
    lines = [f"### {work[0].upper()}{work[1:]}", "", verdict(rows), "", _HEAD, _RULE]
    return "\n".join([*lines, *map(_line, rows)])


def verdict(rows: Sequence[Row]) -> str:
    """Return, in words, who is ahead."""
    can = [row for row in rows if row["can"]]
    behind = [row["package"] for row in can if not row["ahead"]]
    if not can:
        return f"Only {OURS} can."
    if behind:
        return f"Ahead of {OURS}: {', '.join(behind)}."
    return f"{OURS} is ahead of every package that can."


def _line(row: Row) -> str:
    return "| " + " | ".join(cells_of(row)) + " |"


def cells_of(row: Row) -> tuple[str, ...]:
    """Return a row: the package, its durability, the figures, and who is ahead."""
    side = row["package"], row["durability"]
    if not row["can"]:
        return (*side, "cannot", "", "", "", "", OURS)
    figures = _peer(row), _ours(row), _figure(row["raw"], row["unit"])
    return (*side, *figures, _to_raw(row, "peer"), _to_raw(row, "ours"), ahead(row))


def ahead(row: Row) -> str:
    """Return, in words, who is ahead in a row, and how many times."""
    ratio = row["ratio"]
    if ratio is None:
        return f"{row['package']}: {OURS} cannot"
    times = ratio if row["ahead"] else 1 / ratio
    return f"{OURS if row['ahead'] else row['package']}, {times:,.{_digits(times)}f} times"


def _digits(times: float) -> int:
    return 2 if times < 10 else 0


def _peer(row: Row) -> str:
    told = _figure(row["peer"], row["unit"])
    if row["landed"] is not None:
        told += f", {row['landed']} landed"
    errors = ", ".join(f"{count} {name}" for name, count in row["errors"].items())
    return f"{told} ({errors})" if errors else told


def _ours(row: Row) -> str:
    told = _figure(row["ours"], row["unit"])
    return told if row["ours_landed"] is None else f"{told}, {row['ours_landed']} landed"


def _to_raw(row: Row, side: str) -> str:
    value, raw = row[side], row["raw"]
    return "" if value is None or not raw else f"{value / raw:.3g}"


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "B":
        return f"{value / 1e6:,.1f} MB"
    if unit == "µs" and value >= 10_000:
        return f"{value / 1e3:,.1f} ms"
    return f"{value:,.0f} {unit}"
