"""The part of the documentation that tells what was measured on servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page import BEGIN, END

CALLS = ("append", "history", "fork", "search")


def speed(found: dict[str, Any]) -> str:
    """Return what was measured, with the marks."""
    parts = (_machine(found["machine"]), _rows(found), _trips(found), _peers(found))
    return "\n\n".join([BEGIN, *("\n".join(part) for part in parts), END])


def _machine(machine: dict[str, Any]) -> Iterator[str]:
    yield "| machine | |"
    yield "|---|---|"
    for name, value in machine.items():
        yield f"| {name} | {value} |"


def _rows(found: dict[str, Any]) -> Iterator[str]:
    yield "| work | sapwood | raw driver | ratio | bar | |"
    yield "|---|--:|--:|--:|--:|---|"
    for row in (row for place in found["places"].values() for row in place["rows"]):
        figures = f"{row['ours']:,.0f} {row['unit']} | {row['raw']:,.0f} {row['unit']}"
        holds = "holds" if row["holds"] else "**does not hold**"
        bar = f"{row['rule']} {row['bar']:g}"
        if not row["is_judged"]:
            holds = bar = "not judged"
        yield f"| {row['work']} | {figures} | {row['ratio']:.2f} | {bar} | {holds} |"


def _trips(found: dict[str, Any]) -> Iterator[str]:
    yield f"| round trips | {' | '.join(CALLS)} |"
    yield "|---|--:|--:|--:|--:|"
    for name, place in found["places"].items():
        counted = place["round_trips"]
        yield f"| {name} | {' | '.join(str(counted[call]) for call in CALLS)} |"


def _peers(found: dict[str, Any]) -> Iterator[str]:
    yield "| package | work | its figure | sapwood | sapwood is ahead |"
    yield "|---|---|--:|--:|--:|"
    for row in (row for place in found["places"].values() for row in place["peers"]):
        figures = f"{row['peer']:,.0f} {row['unit']} | {row['ours']:,.0f} {row['unit']}"
        yield f"| {row['package']} | {row['work']} | {figures} | {row['ratio']:.2f} times |"
