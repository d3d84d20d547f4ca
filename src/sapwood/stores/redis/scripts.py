"""The packaged scripts, each with what all of them share before it.

What each does, and what it checks before its first write, stands in docs/redis-scripts.md.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import NamedTuple

from ...model import Root
from ...rules.key_range import KeyRange

_NO_WRITES = frozenset(
    {
        "children",
        "context_tokens",
        "count_tree",
        "data_with",
        "gaps",
        "homes_with",
        "inheritance",
        "leaves",
        "list_data",
        "list_messages",
        "look",
        "marked_trees",
        "on_path",
        "overlays_in_force",
        "owner_documents",
        "path_runs",
        "pull_changes",
        "quoting_overlays",
        "range_tokens",
        "read_feed",
        "read_path",
        "recent",
        "session_documents",
        "tip_marks",
        "usage",
        "visible_pieces",
    }
)
# Removing has to work when the server has no memory left, with what it notes, and so has reading.
_ALLOW_OOM = frozenset(
    {
        "acknowledge",
        "apply_freeing",
        "drop_tree",
        "erase_owner",
        "keep_context",
        "mark_tree",
        "publish_changes",
        "raise_floor",
        "release_name",
        "sweep_tree",
        "trim_feed",
        "unmark_tree",
    }
)
_SAME_TEXT = {"apply_freeing": "apply"}
# These do not read paths. What a script defines is made anew with each call.
_WITHOUT_PATHS = frozenset(
    {
        *("append", "apply", "apply_freeing", "claim_name", "index_key", "keep_context"),
        *("mark_tree", "owner_documents", "raise_floor", "release_name", "session_documents"),
    }
)
_WITH_DOCUMENTS = frozenset(
    {"append", "apply", "apply_freeing", "owner_documents", "session_documents"}
)
_WITH_LISTING = frozenset({"claim_name", "publish_changes", "release_name"})


class Script(NamedTuple):
    """A script's text, and the digest by which the server knows it."""

    text: str
    digest: str


@cache
def script(name: str) -> Script:
    """Return a script; `apply_freeing` is `apply` for units of work that only make room."""
    folder = resources.files(__package__) / "lua"
    shared = ["common"] if name in _WITHOUT_PATHS else ["common", "paths"]
    shared += ["documents"] if name in _WITH_DOCUMENTS else []
    shared += ["listing"] if name in _WITH_LISTING else []
    parts = [*shared, _SAME_TEXT.get(name, name)]
    texts = [(folder / f"{part}.lua").read_text("utf-8") for part in parts]
    text = "\n".join([f"#!lua{_flags(name)}", *texts])
    # The server uses it for nothing else than a name.
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script(text, digest)


def _flags(name: str) -> str:
    if name in _NO_WRITES:
        return " flags=no-writes"
    return " flags=allow-oom" if name in _ALLOW_OOM else ""


def range_words(asked: KeyRange, *, values: bool, expired: bool = False) -> tuple[str | int, ...]:
    """Return how a script is told a range of keys, and what of the documents is wanted."""
    low, is_included, high = asked.bounds()
    most = -1 if asked.limit is None else asked.limit
    backwards, *flags = ["1" if it else "" for it in (asked.reverse, values, expired)]
    return f"{'[' if is_included else '('}{low}", f"({high}", backwards, most, *flags


def place_words(place: str | Root | None) -> tuple[str, str]:
    """Return how a script is told a place: the tip for None, the root, or a message by its id."""
    if place is None:
        return "", ""
    return ("r", "") if isinstance(place, Root) else ("m", place)
