"""Run the full tier: every test everywhere, with the high counts, in parts that can be resumed.

    python tools/full/run.py                   all parts that have not passed on these files
    python tools/full/run.py --part redis      this one, whether it passed before or not
    python tools/full/run.py --list            what there is, and what has passed

What has passed is kept in `.test-full.json`, until a file changes that it rests on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from files import digests, fingerprint
from parts import PARTS, SERVERS, Part
from pythons import find_python

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".test-full.json"
REPORT = ROOT / ".test-full-part.json"

Passed = dict[str, dict[str, Any]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=[it.name for it in PARTS], action="append")
    parser.add_argument("--list", action="store_true", help="say what there is")
    return parser.parse_args()


def read() -> Passed:
    """Return the parts that have passed on the files that they rest on, as these are."""
    if not STATE.exists():
        return {}
    stored: Passed = json.loads(STATE.read_text())
    files = digests(ROOT)
    parts = {it.name: it for it in PARTS}
    return {
        name: told
        for name, told in stored.items()
        if name in parts and told["files"] == fingerprint(parts[name], files)
    }


def command_of(part: Part) -> list[str] | None:
    """Return what runs a part; None when the Python that it is for is not installed."""
    options = ["-q", "-n", "auto", "--dist", "worksteal", "--report", str(REPORT)]
    if not part.python:
        required = ["--own-servers", "--no-skips", "--require-backends", SERVERS]
        return [sys.executable, "-m", "pytest", *options, *required, *part.paths]
    found = find_python(part.python)
    if found is None:
        return None
    hidden = [sys.executable, "tools/servers/hidden.py"]
    return [*hidden, "make", "test", f"PYTHON={found}", f"ARGS={' '.join(options)}"]


def run(part: Part) -> dict[str, Any] | None:
    """Run a part; return what it tried, None when it failed."""
    command = command_of(part)
    if command is None:
        print(f"{part.name}: there is no Python {part.python} here", flush=True)
        return {"seconds": 0, "passed": 0, "skipped": 0, "counts": {}, "why": "not installed"}
    REPORT.unlink(missing_ok=True)
    print(f"=== {part.name}", flush=True)
    began = time.monotonic()
    full = {} if part.python else {"SAPWOOD_TESTS": "full"}
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, **full}).returncode
    if code or not REPORT.exists():
        return None
    report: dict[str, Any] = json.loads(REPORT.read_text())
    REPORT.unlink()
    return {**report, "seconds": round(time.monotonic() - began)}


def show(passed: Passed) -> None:
    for part in PARTS:
        told = passed.get(part.name)
        if told is None or "why" in told:
            print(f"{part.name:<14} {'not passed yet' if told is None else told['why']}")
            continue
        print(
            f"{part.name:<14} {told['passed']:>6} passed {told['skipped']:>6} skipped"
            f" {told['seconds'] / 60:>6.1f} min"
        )
    counts: Counter[str] = Counter()
    for told in passed.values():
        counts.update(told["counts"])
    for name, count in sorted(counts.items()):
        print(f"{count:>8}  {name}")
    minutes = sum(told["seconds"] for told in passed.values()) / 60
    print(f"{sum(told['passed'] for told in passed.values())} passed in {minutes:.1f} minutes")


def main() -> int:
    options = arguments()
    passed = read()
    failed = []
    for part in PARTS if not options.list else ():
        if part.name in options.part if options.part else part.name not in passed:
            before = fingerprint(part, digests(ROOT))
            told = run(part)
            if told is None:
                failed.append(part.name)
            elif fingerprint(part, digests(ROOT)) != before:
                sys.exit(f"{part.name} passed, but files were changed meanwhile: run it again")
            else:
                passed = {**read(), part.name: {**told, "files": before}}
                STATE.write_text(json.dumps(passed, indent=1))
    show(passed)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
