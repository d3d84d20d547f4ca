"""The packaged scripts, each with what all of them share before it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import NamedTuple

_NO_WRITES = frozenset(
    {
        "children",
        "count",
        "documents",
        "feed",
        "gaps",
        "hot",
        "inherit",
        "leaves",
        "look",
        "overlays",
        "owned",
        "plan",
        "pull",
        "quoting",
        "range",
        "read",
        "shape",
        "sum",
        "usage",
    }
)
# Removing has to work when the server has no memory left, with what it notes, and so has reading.
_ALLOW_OOM = frozenset(
    {"drop", "erase", "forget", "free", "keep", "mark", "note", "rest", "sweep", "told", "trim"}
)
_SAME = {"free": "apply"}
# These do not read paths. What a script defines is made anew with each call.
_SMALL = frozenset({"append", "apply", "claim", "free", "keep", "mark"})


class Script(NamedTuple):
    """A script's text, and the digest by which the server knows it."""

    text: str
    digest: str


@cache
def script(name: str) -> Script:
    """Give a script; `free` is `apply` for units of work that only make room."""
    folder = resources.files(__package__) / "lua"
    parts = ["core", *([] if name in _SMALL else ["lib"]), _SAME.get(name, name)]
    texts = [(folder / f"{part}.lua").read_text("utf-8") for part in parts]
    text = "\n".join([f"#!lua{_flags(name)}", *texts])
    # The server uses it for nothing else than a name.
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script(text, digest)


def _flags(name: str) -> str:
    if name in _NO_WRITES:
        return " flags=no-writes"
    return " flags=allow-oom" if name in _ALLOW_OOM else ""
