"""How much is tried: what one waits for at every change, or all that there is.

`make test` and `.ci/run` try a mistake once, where it is cheapest to catch. `make test-full` tries
everything everywhere: it sets SAPWOOD_TESTS=full.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

FULL = os.environ.get("SAPWOOD_TESTS") == "full"

Suite = TypeVar("Suite", bound=type)


def often(usual: int, full: int) -> int:
    """Return how often something is tried in this run."""
    return full if FULL else usual


BAD_INPUT = {"BadNameContract", "BadValueContract"}
"""The parts of the contract that the checks which all stores share keep, unless overridden."""
WRITTEN_BY_HAND = {
    *("AppendContract", "ExpectedTipContract", "BatchContract", "ConcurrencyContract"),
    *("SerialContract", "DurableContract", "SharedContract", "ClosedContract"),
}
"""The parts that reach what is not generated from the async twin."""
STORAGE = WRITTEN_BY_HAND | {
    *("SessionContract", "ListingContract", "ForkContract", "DetachedForkContract"),
    *("UpdateContract", "DeleteContract", "ReadContract", "TreeContract", "OverlayContract"),
    *("UnitContract", "KnownContract", "FenceContract", "ClosedContract"),
    *("OverlayForkContract", "DocumentContract", "UsageContract", "FeedContract"),
    *("RecordFeedContract", "FeedReaderContract", "ChangedOwnersContract"),
    *("RecordVersionContract", "KindContract", "KindSearchContract"),
    *("SystemContract", "KeyContract", "UpdatedContract", "ActivityContract"),
    *("OrderContract", "LookUpContract", "OwnerListingContract"),
    *(
        "SessionDeletionContract",
        "ClearContract",
        "AdminContract",
        "MissingContract",
        "SumContract",
    ),
    *("DigestContract", "ParentContract", "StreamContract", "HomesContract", "BodilessContract"),
    "FileContract",
    "WalkContract",
    *("RewriteContract", "RewriteMeanwhileContract"),
}
"""The parts that another place for the same statements can change."""


def usually(
    *, only: set[str] | None = None, without: set[str] | None = None
) -> Callable[[Suite], Suite]:
    """Make a decorator: below the full tier, a class tries only these parts of the contract."""

    def decorate(suite: Suite) -> Suite:
        suite.usual_parts = only  # type: ignore[attr-defined]
        suite.unusual_parts = without  # type: ignore[attr-defined]
        return suite

    return decorate


def is_usual(suite: type | None, test: str) -> bool:
    """Whether a test of a class belongs to what is tried at every change."""
    only = getattr(suite, "usual_parts", None)
    without = getattr(suite, "unusual_parts", None) or set()
    if suite is None or (only is None and not without):
        return True
    home = next(it for it in suite.__mro__ if test in vars(it))
    part = home.__name__.removeprefix("Async")
    return part not in without and (only is None or part in only)
