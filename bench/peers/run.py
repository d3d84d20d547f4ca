"""Measure sapwood against other packages: `make bench-peers`, or with `--only WORD`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import shutil
import sqlite3
import sys
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import shared_path  # noqa: F401 - before what is imported from there
import turns
from brief import brief
from chart import draw
from comparison import Comparison
from contest import QUICK, Contest, Sizes, as_json
from measure import percentile, time_of
from page import measured, write_between
from report import machine
from sides import PEERS, peer_class
from table import line, table
from workloads import NOT_JUDGED, WORKS, in_order

HERE = Path(__file__).parent
WORK = HERE / "work"
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
COMMITS = 200
PACKAGES = (
    "sapwood",
    "apsw",
    "aiosqlite",
    "SQLAlchemy",
    "langgraph",
    "langgraph-checkpoint",
    "langchain",
)


def main() -> int:
    """Measure and report; return whether ours is ahead wherever a package can do the work."""
    options = _options()
    run = Run(QUICK if options.quick else Sizes(), options.only)
    run.measure()
    if not run.rows:
        print(f"nothing is called {options.only!r}: there are {', '.join([*PEERS, *WORKS])}")
        return 2
    print(f"\n{table(in_order(run.rows))}\n")
    if not options.only and not options.quick:
        _write(run.found())
    return _judge(run.rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="a package or a piece of work")
    parser.add_argument("--quick", action="store_true", help="smaller and less exact")
    return parser.parse_args()


class Run:
    """One run over the packages and the work that have a word in their names."""

    def __init__(self, sizes: Sizes, only: str) -> None:
        self.sizes = sizes
        self.only = only
        self.rows: list[Comparison] = []
        self.sides: list[dict[str, str]] = []
        self.commits_us: list[float] = []

    def measure(self) -> None:
        """Measure package after package, each in a folder that is removed at the end."""
        for name, place in PEERS.items():
            works = [work for work in WORKS if self.only in name or self.only in work]
            if not works:
                continue
            shutil.rmtree(WORK, ignore_errors=True)
            WORK.mkdir()
            try:
                asyncio.run(self._one(place, works))
            finally:
                shutil.rmtree(WORK, ignore_errors=True)

    async def _one(self, place: str, works: list[str]) -> None:
        contest = Contest(peer_class(place), WORK, self.sizes)
        await contest.open()
        self._note(contest)
        if contest.peer.stores:
            await contest.build()
        else:
            works = [work for work in works if work == turns.TURN]
        for work in works:
            row = await WORKS[work](contest)
            gc.unfreeze()
            if row is None:
                continue
            print(line(row), flush=True)
            self.rows.append(row)
        commits = [time_of(contest.raw) for _ in range(COMMITS)]
        self.commits_us.append(percentile(commits, 0.5))
        await contest.close()

    def _note(self, contest: Contest) -> None:
        peer = contest.peer
        ours = f"{contest.ours.name}, {contest.durability}"
        print(f"\n{peer.name}: {contest.settings}; beside {ours}", flush=True)
        self.sides.append(
            {
                "name": peer.name,
                "version": f"{peer.package} {version(peer.package)}",
                "durability": str(contest.settings),
                "ours": ours,
                "how": peer.how,
            }
        )

    def found(self) -> dict[str, Any]:
        """Return all that was measured, as JSON."""
        commit = {"raw commit": f"{median(self.commits_us):.0f} µs"}
        own = {"sqlite of Python": sqlite3.sqlite_version}
        return {
            "machine": {**machine(), **own, **commit},
            "versions": {name: version(name) for name in PACKAGES},
            "sides": self.sides,
            "rows": [row.plain() for row in in_order(self.rows)],
        }


def _write(found: dict[str, Any]) -> None:
    (HERE / "latest.json").write_text(as_json(found), encoding="utf-8")
    (DOCS / "peers.svg").write_text(draw(found["rows"]), encoding="utf-8")
    write_between(DOCS / "peers.md", measured(found))
    write_between(ROOT / "README.md", brief(found["rows"]))


def _judge(rows: list[Comparison]) -> int:
    behind = [row for row in rows if row.can and not row.ahead]
    for row in behind:
        print(f"{row.package} is ahead: {row.work}")
    return 1 if any(row.work not in NOT_JUDGED for row in behind) else 0


if __name__ == "__main__":
    sys.exit(main())
