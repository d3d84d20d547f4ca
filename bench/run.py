"""Measure sapwood against the raw driver: `make bench`, or `bench/run.py --only WORD`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import append_rows
import async_rows
import branch_rows
import cli_rows
import crowd_rows
import footprint_rows
import format_rows
import growth_rows
import history_rows
import listener_rows
import lookup_rows
import overlay_rows
import search_rows
import session_rows
import stream_rows
import turn_rows
import write_rows
from commit import Commits
from disk import kind_of_disk
from report import chart, line, machine, table, write_json
from row import JUDGED_FROM_US, Finding, Row
from svg import write_svg
from world import World

HERE = Path(__file__).parent

Work = Callable[[World], Iterable[Row]]

WORKS: dict[str, Work] = {
    "append sync full": append_rows.append_one_full,
    "append sync normal": append_rows.append_one_normal,
    "append async": async_rows.append_async,
    "ticker": async_rows.ticker,
    "append deep": append_rows.append_deep,
    "append among many": append_rows.append_among_many,
    "crowd of tasks, 64 sessions": crowd_rows.tasks_to_many,
    "crowd of tasks, one session": crowd_rows.tasks_to_one,
    "crowd of threads": crowd_rows.threads,
    "batch": write_rows.append_batch,
    "unit": write_rows.append_unit,
    "data": lookup_rows.append_with_data,
    "update": write_rows.update_last,
    "branches": branch_rows.regenerate,
    "history": history_rows.histories,
    "last 50": history_rows.last_50,
    "path of branches": branch_rows.path_of_branches,
    "path of segments": branch_rows.path_of_segments,
    "overlays one": overlay_rows.one_summary,
    "overlays nested": overlay_rows.nested_summaries,
    "overlays alternating": overlay_rows.alternating_summaries,
    "growth overlays": growth_rows.overlays_beside,
    "context": history_rows.context_estimates,
    "fork": session_rows.forks,
    "growth fork chain": growth_rows.fork_chains,
    "pages of sessions": session_rows.pages,
    "lookup data": lookup_rows.current_data,
    "lookup sessions": lookup_rows.sessions,
    "lookup documents": lookup_rows.documents,
    "lookup feed": lookup_rows.feed,
    "growth usage": growth_rows.usage_of_owner,
    "delete": session_rows.delete_large,
    "turn context": turn_rows.context_estimates,
    "turn prepare": turn_rows.prepares,
    "growth freeze": growth_rows.freezes,
    "growth prepare": growth_rows.prepare_within_budget,
    "turn compact": turn_rows.compactions,
    "turn listener": listener_rows.append_with_listener,
    "turn listener async": listener_rows.append_async_with_listener,
    "search": search_rows.searches,
    "search for a small owner": search_rows.small_owner,
    "search with unread messages": search_rows.unread,
    "append beside the indexer": search_rows.append_beside_indexer,
    "search on disk": search_rows.index_on_disk,
    "formats": format_rows.conversions,
    "stream": stream_rows.deltas,
    "stream turn": stream_rows.turns_of_deltas,
    "stream commits": stream_rows.commits_of_turns,
    "commands": cli_rows.commands,
    "import": footprint_rows.imports,
    "memory": footprint_rows.stream,
    "disk": footprint_rows.on_disk,
}


def main() -> int:
    """Measure and report; return whether all judged bars hold."""
    options = _options()
    with TemporaryDirectory(prefix="work-", dir=options.folder) as work:
        findings = _measure(World(Path(work), quick=options.quick), options.only)
    if not findings:
        print(f"nothing is called {options.only!r}: there are {', '.join(WORKS)}")
        return 2
    commit_us = median(finding.raw_commit_us for finding in findings)
    print(f"\n{table(findings)}\n\n{chart([finding.row for finding in findings])}\n")
    if not options.only and not options.quick:
        write_json(HERE / "latest.json", findings, commit_us, _told(options.folder))
        write_svg(HERE / "latest.svg", findings, commit_us)
    return _judge(findings, commit_us)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="run what has WORD in its name")
    parser.add_argument("--quick", action="store_true", help="smaller and less exact")
    parser.add_argument(
        "--folder", type=Path, default=HERE, metavar="DIR", help="measure on the disk of DIR"
    )
    return parser.parse_args()


def _told(folder: Path) -> dict[str, Any]:
    return {**machine(), "disk": kind_of_disk(folder)}


def _measure(world: World, only: str) -> list[Finding]:
    print(", ".join(f"{name} {value}" for name, value in _told(world.folder).items()))
    commits = Commits(world)
    before = commits.p50_us()
    print(f"one raw commit costs {before:.0f} µs", flush=True)
    findings: list[Finding] = []
    for work in (work for name, work in WORKS.items() if only in name):
        rows = list(work(world))
        after = commits.p50_us()
        # Load from outside only ever adds to what a commit costs.
        found = [Finding(row=row, raw_commit_us=min(before, after)) for row in rows]
        print(*map(line, found), sep="\n", flush=True)
        findings += found
        before = after
    return findings


def _judge(findings: list[Finding], commit_us: float) -> int:
    print(f"one raw commit costs {commit_us:.0f} µs, the median over the rows")
    passed_over = [it for it in findings if it.row.is_at_full and not it.is_judged]
    if passed_over:
        print(
            f"{len(passed_over)} bars at synchronous=FULL were not judged: "
            f"a raw commit cost less than {JUDGED_FROM_US:.0f} µs beside them"
        )
    broken = [finding.row.work for finding in findings if finding.is_broken]
    for work in broken:
        print(f"the bar does not hold: {work}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
