"""Documents of the log as MongoDB's documents, and back; nothing is nested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..recordlog.log_documents import MOST_IN_A_RECORD, LogDocument, LogKey, LogKind

MOST_NAMES = 50_000
"""A command has 16 MB, and a name of ours less than a hundred bytes."""
BLANK: dict[str, Any] = {"data": b"", "owner": "", "segment": "", "page": False}


def to_mongo(stored: LogDocument) -> dict[str, Any]:
    """Return a document as MongoDB keeps it; each has the shard key.

    What a record does not have is left out: each field takes its time, here and in the server.
    """
    document: dict[str, Any] = {"_id": stored.id, "tree": stored.shard, "data": stored.data}
    if stored.kind is LogKind.ENTRY:
        document["owner"] = stored.owner
    if stored.is_page:
        document["page"] = True
    if stored.segment:
        document |= {"segment": stored.segment, "first": stored.first, "last": stored.last}
    return document


def from_mongo(document: dict[str, Any], kind: LogKind) -> LogDocument:
    """Read a document."""
    log, n = "", 0
    if kind is LogKind.RECORD:
        _, log, number = document["_id"].split("/")
        n = int(number)
    return LogDocument(
        kind=kind,
        id=document["_id"],
        shard=document["tree"],
        data=document["data"],
        owner=document.get("owner", ""),
        log=log,
        n=n,
        is_page=document.get("page", False),
        segment=document.get("segment", ""),
        first=document.get("first", 0),
        last=document.get("last", 0),
    )


def range_filter(segment: str, first: int, last: int) -> dict[str, Any]:
    """Ask for the records that reach into a range; the index is bounded at both ends."""
    return {
        "segment": segment,
        "last": {"$gte": first, "$lte": last + MOST_IN_A_RECORD},
        "first": {"$lte": last},
    }


def by_kind(keys: Sequence[LogKey]) -> list[tuple[LogKind, list[LogKey]]]:
    """Sort names by the collection that they are in, as many together as a command takes."""
    sorted_keys: dict[LogKind, list[LogKey]] = {}
    for key in keys:
        sorted_keys.setdefault(key.kind, []).append(key)
    return [
        (kind, named[start : start + MOST_NAMES])
        for kind, named in sorted_keys.items()
        for start in range(0, len(named), MOST_NAMES)
    ]
