"""The short table in the README, from what was measured. Needs nothing but Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
WORKS = {
    "append at 10,000 messages": "append to a session of 10,000 messages",
    "10,000 loaded": "load 10,000 messages",
    "10,000 loaded again": "load them again",
    "last 50 of 10,000": "load the last 50 of them",
    "fork at 10,000 messages": "fork after 10,000 messages",
    "search of a rare word": "search for a rare word",
    "bytes written for 1,000 appends": "bytes written for 1,000 appends",
    "64 concurrent appends to one session": "64 concurrent appends to a session",
}

Row = dict[str, Any]


def brief(rows: Sequence[Row]) -> str:
    """Return the table, with its marks: a line for each work, a column for each package."""
    cells = {(row["work"], row["package"]): _cell(row) for row in rows}
    packages = list(dict.fromkeys(row["package"] for row in rows))
    lines = [
        f"| | {' | '.join(packages)} |",
        f"|---|{'--:|' * len(packages)}",
        *(
            f"| {said} | {' | '.join(cells[work, package] for package in packages)} |"
            for work, said in WORKS.items()
        ),
    ]
    return "\n\n".join([BEGIN, "\n".join(lines), END])


def _cell(row: Row) -> str:
    ratio = row["ratio"]
    if ratio is None:
        return "cannot" if not row["can"] else "**sapwood cannot**"
    told = f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"
    if row["landed"] is not None:
        landed, _, of = row["landed"].partition(" of ")
        told += "" if landed == of else f" ({row['landed']} kept)"
    return told if row["ahead"] else f"**{told}**"
