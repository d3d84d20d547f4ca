"""Say which tests failed in the last run.

python tools/failed_tests.py --most 5   note them; end with an error if there are none, or more
python tools/failed_tests.py --before   say those that were noted
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / ".pytest_cache" / "v" / "cache"
FAILED = CACHE / "lastfailed"
NOTED = CACHE / "failed-first"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--before", action="store_true")
    options = parser.parse_args()
    if options.before:
        print(NOTED.read_text())
        return 0
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    print(f"{len(failed)} failed:", *failed, sep="\n  ")
    if not 0 < len(failed) <= options.most:
        return 1
    NOTED.write_text("\n".join(failed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
