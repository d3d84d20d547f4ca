"""Mutate the package, and see which tests notice.

    make mutate                                          30 mutations
    make mutate ARGS="--seed 7 --count 8 --only rules"   8 others, in one package
    make mutate ARGS="--again"                           once more what the default tier let pass

Each is made in a copy of the project. The default tier's tests of its package are run, then, if all
pass, the full tier's. A table says at the end what became of each; the run fails when the full tier
alone noticed one. What is known stays in a file by the seed, so that a run goes on where it ended.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from draw import Drawn, draw
from outcome import Outcome, Outcomes, table
from packages import PACKAGES, Package
from project_copy import applied, copied
from suite_runs import TIERS, Tests

# A busy machine is no loop without an end.
SLOWER = 3
ROOT = Path(__file__).resolve().parents[2]


class Trial:
    """Tries mutations on tests that are known to pass without them."""

    def __init__(self, tests: Tests, limit_s: float, *, has_baseline: bool) -> None:
        self._tests = tests
        self._limit_s = limit_s
        self._has_baseline = has_baseline
        self._took: dict[tuple[str, str], float] = {}

    def outcome(self, drawn: Drawn) -> Outcome:
        """Find the lowest tier that notices."""
        for tier in TIERS:
            limit_s = max(self._limit_s, SLOWER * self._baseline_s(drawn.package, tier))
            with applied(drawn.mutation, self._tests.root):
                told = self._tests.run(drawn.package, tier, limit_s)
            if told.failed is not None:
                return Outcome(tier, told.failed)
        return Outcome(None, "")

    def _baseline_s(self, package: Package, tier: str) -> float:
        """Make sure, once, that tests pass without a mutation; return how long that takes."""
        if self._has_baseline and (package.name, tier) not in self._took:
            told = self._tests.run(package, tier)
            if told.failed is not None or not told.has_passed:
                why = f"ended with {told.failed}" if told.failed else "had none to run"
                print("\n".join(told.output.splitlines()[-30:]))
                sys.exit(f"without a mutation, the {tier} tier's tests of {package.name} {why}")
            print(f"without a mutation: {package.name}, {tier}: {told.took_s:.0f} s", flush=True)
            self._took[package.name, tier] = told.took_s
        return self._took.get((package.name, tier), 0)


def main() -> int:
    options = _options()
    # Whoever ends this run ends its tests, and their servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    state = Outcomes(options.state or ROOT / ".mutate" / f"seed-{options.seed}.json")
    with copied(ROOT) as copy:
        tests = Tests(copy, options.jobs, options.servers)
        trial = Trial(tests, options.limit, has_baseline=not options.no_baseline)
        drawn = draw(copy, _packages(options.only), options.seed, options.count)
        outcomes = []
        for number, one in enumerate(drawn, 1):
            outcome = state.find(one)
            if outcome is None or (options.again and outcome.tier != "default"):
                outcome = trial.outcome(one)
                state.put(one, outcome)
            print(f"{number}/{len(drawn)} {one.mutation.key}: {outcome.words}", flush=True)
            outcomes.append((one, outcome))
    print("", *table(outcomes), sep="\n")
    return int(any(outcome.tier == "full" for _, outcome in outcomes))


def _packages(only: str | None) -> list[Package]:
    known = {package.name: package for package in PACKAGES}
    names = only.split(",") if only else list(known)
    if not known.keys() >= set(names):
        sys.exit(f"--only takes some of {', '.join(known)}")
    return [package for package in PACKAGES if package.name in names]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--only", metavar="PACKAGES", help="such as rules,sqlite")
    limit = "seconds for one run of tests, or three times what it takes without a mutation"
    parser.add_argument("--limit", type=float, default=600, help=limit)
    parser.add_argument("--jobs", type=int, default=0, help="processes of one run of tests")
    parser.add_argument("--servers", metavar="NAMES", help="those that must be there")
    parser.add_argument("--state", type=Path, metavar="FILE", help="where the outcomes are kept")
    parser.add_argument("--again", action="store_true", help="try again what was let pass")
    parser.add_argument("--no-baseline", action="store_true", help="trust the tests to pass")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
