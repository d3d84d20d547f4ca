"""Name the tests that failed in the last run.

python tools/failed_tests.py --forget   forget what an earlier run left
python tools/failed_tests.py --most 5   note them; end with an error if there are none, or more,
                                        or if a test was skipped
python tools/failed_tests.py --before   say those that were noted
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="where the tests were run")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--before", action="store_true")
    parser.add_argument("--forget", action="store_true")
    options = parser.parse_args()
    cache = options.root / ".pytest_cache" / "v"
    failed, skipped = cache / "cache" / "lastfailed", cache / "sapwood" / "skipped"
    noted = cache / "cache" / "failed-first"
    if options.forget:
        for path in (failed, skipped, noted):
            path.unlink(missing_ok=True)
        return 0
    if options.before:
        print(noted.read_text())
        return 0
    return _note(noted, _names(failed), _names(skipped), options.most)


def _names(path: Path) -> list[str]:
    return sorted(json.loads(path.read_text())) if path.exists() else []


def _note(noted: Path, failed: list[str], skipped: list[str], most: int) -> int:
    print(f"{len(failed)} failed:", *failed, sep="\n  ")
    if skipped:
        print(f"{len(skipped)} skipped:", *skipped, sep="\n  ")
    # What is no test, such as a worker that broke off, cannot be tried by itself.
    if skipped or not 0 < len(failed) <= most or not all("::" in name for name in failed):
        return 1
    noted.write_text("\n".join(failed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
