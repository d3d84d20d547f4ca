"""Measure the stores of servers against their drivers: `make bench-servers`, `--only WORD`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import shared_path  # noqa: F401 - before what is imported from there
from lookups import LOOKUPS
from page import write_between
from report import line, machine, table
from row import Finding
from server_kind import ServerKind
from server_kinds import SERVER_KINDS
from speed_page import speed
from workloads import WORKS, World, trips

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "server-speed.md"
QUICK = 0.1


def main() -> int:
    """Measure and report; return whether the bars hold."""
    options = _options()
    found: list[Finding] = []
    counted: dict[str, dict[str, int]] = {}
    for kind in SERVER_KINDS:
        if options.only.lower() in kind.name.lower():
            there, beside = list[Finding](), list[Any]()
            for row in _measure(
                kind, QUICK if options.quick else 1.0, options.work, counted, beside
            ):
                there.append(row)
                print(line(row), flush=True)
            found += there
            if not (options.quick or options.work):
                _keep(kind.name, there, counted[kind.name], beside)
    if not counted:
        names = ", ".join(it.name for it in SERVER_KINDS)
        print(f"nothing is called {options.only!r}: there are {names}")
        return 2
    if found:
        print(f"\n{table(found)}")
    print(f"\n{_trips_table(counted)}\n")
    return int(any(finding.is_broken for finding in found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="a kind of server")
    parser.add_argument(
        "--work", default="", metavar="WORD", help=f"one of {', '.join(WORKS | LOOKUPS)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer times and less exact")
    return parser.parse_args()


def _measure(
    kind: ServerKind,
    share: float,
    work: str,
    counted: dict[str, dict[str, int]],
    beside: list[Any],
) -> Iterator[Finding]:
    server = kind.start()
    try:
        world = World(kind, server.url(), share)
        for name, measure in (WORKS | (LOOKUPS if kind.looks_up else {})).items():
            if work in name:
                for row in measure(world):
                    yield Finding(row=row, raw_commit_us=0)
        counted[kind.name] = trips(world)
        world.close()
        for name in kind.peers if work in "peers" else ():
            _tell_peer(name, server.url(), world.url, share, beside)
    finally:
        server.remove()


def _tell_peer(name: str, url: str, ours: str, share: float, beside: list[Any]) -> None:
    """Measure a package on the same server; it is shown, and not judged."""
    import peers

    for row in asyncio.run(peers.compare(getattr(peers, name)(url), ours, share)):
        beside.append(row)
        print(
            f"{row.package}, {row.work}: {row.peer:,.0f} {row.unit}, "
            f"sapwood {row.ours:,.0f} {row.unit}: ahead {row.ratio:.2f} times",
            flush=True,
        )


def _trips_table(counted: dict[str, dict[str, int]]) -> str:
    heads = ["append", "history", "fork", "search"]
    lines = [f"{'round trips':<24}" + "".join(f"{head:>9}" for head in heads)]
    for name, by_call in counted.items():
        lines.append(f"{name:<24}" + "".join(f"{by_call[head]:>9}" for head in heads))
    return "\n".join(lines)


def _keep(
    kind: str, found: Sequence[Finding], counted: dict[str, int], beside: Sequence[Any]
) -> None:
    """Put what was measured on a kind of server beside what is on record of the others."""
    rows: list[dict[str, Any]] = [
        {
            "work": it.row.work,
            "unit": it.row.unit,
            "ours": it.row.ours,
            "raw": it.row.raw,
            "ratio": it.row.ratio,
            "rule": it.row.rule,
            "bar": it.row.bar,
            "holds": it.row.holds,
            "is_judged": it.is_judged,
        }
        for it in found
    ]
    peers = [it.plain() for it in beside]
    latest = HERE / "latest.json"
    known = json.loads(latest.read_text(encoding="utf-8"))["places"] if latest.exists() else {}
    known[kind] = {"rows": rows, "round_trips": counted, "peers": peers}
    places = {it.name: known[it.name] for it in SERVER_KINDS if it.name in known}
    told = {"machine": machine(), "places": places}
    latest.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_between(PAGE, speed(told))


if __name__ == "__main__":
    sys.exit(main())
