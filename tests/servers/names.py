"""Names for what tests put on a server that others use, too: they all begin with the same words.

What begins so is the tests' own, and may be removed; whatever else is on the server is somebody's.
"""

from __future__ import annotations

import os

OURS = "sapwood_test"


def own(*parts: str) -> str:
    """Give a name that is this process's own: `sapwood_test_gw0_...`."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return "_".join((OURS, worker, *parts))


def pattern_of(prefix: str) -> str:
    """Give what SQL's LIKE finds names by that begin so."""
    return prefix.replace("_", r"\_") + "%"
