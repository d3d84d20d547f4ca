"""The documents of the record log as OpenSearch keeps them, and back."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from ...errors import StoreCorruptError
from ..recordlog.log_documents import LogDocument, LogKey, LogKind

VERSION = 1
NAMES = {LogKind.RECORD: "records", LogKind.ENTRY: "entries", LogKind.LOOKUP: "lookups"}

_KEYWORD = {"type": "keyword"}
_KEPT = {"type": "keyword", "index": False, "doc_values": False}
_COMMON = {"tree": _KEYWORD, "data": {"type": "binary"}, "by": _KEPT}
_NUMBER = {"type": "long"}
_FIELDS: dict[LogKind, dict[str, Any]] = {
    LogKind.RECORD: {
        "log": _KEYWORD,
        "n": _NUMBER,
        "page": {"type": "boolean"},
        "segment": _KEYWORD,
        "first": _NUMBER,
        "last": _NUMBER,
    },
    LogKind.ENTRY: {"owner": _KEYWORD, "key": _KEYWORD},
    LogKind.LOOKUP: {},
}


def mapping_of(kind: LogKind) -> dict[str, Any]:
    """Return the fields of a kind of document; what is only got by its name is not indexed."""
    return {
        "dynamic": "strict",
        "_meta": {"sapwood": VERSION},
        "_routing": {"required": True},
        "properties": {**_COMMON, **_FIELDS[kind]},
    }


def to_document(stored: LogDocument, by: str) -> dict[str, Any]:
    """Return a document; `by` names the call that wrote it, in case that its answer is lost."""
    data = base64.b64encode(stored.data).decode()
    document: dict[str, Any] = {"tree": stored.shard, "data": data, "by": by}
    if stored.kind is LogKind.ENTRY:
        document |= {"owner": stored.owner, "key": stored.id}
    elif stored.kind is LogKind.RECORD:
        document |= {"log": stored.log, "n": stored.n, "page": stored.is_page}
        document |= {"segment": stored.segment, "first": stored.first, "last": stored.last}
    return document


def from_document(found: Any, kind: LogKind) -> LogDocument:
    """Read a document."""
    source = found["_source"]
    try:
        data = msgspec.convert(source["data"], bytes)
    except msgspec.ValidationError as error:
        raise StoreCorruptError(f"document {found['_id']} cannot be decoded: {error}") from error
    return LogDocument(
        kind=kind,
        id=found["_id"],
        shard=source["tree"],
        data=data,
        owner=source.get("owner", ""),
        log=source.get("log", ""),
        n=source.get("n", 0),
        is_page=source.get("page", False),
        segment=source.get("segment", ""),
        first=source.get("first", 0),
        last=source.get("last", 0),
    )


def blanked(found: Any) -> dict[str, Any]:
    """Return a document without what it said; its name stays taken."""
    source = dict(found["_source"])
    empty = {"data": "", "owner": "", "segment": "", "page": False}
    return {**source, **{name: value for name, value in empty.items() if name in source}}


def in_range(segment: str, first: int, last: int) -> dict[str, Any]:
    """Ask for the records that have a message of a segment between two depths."""
    asked: list[dict[str, Any]] = [
        {"term": {"segment": segment}},
        {"range": {"last": {"gte": first}}},
        {"range": {"first": {"lte": last}}},
    ]
    return {"bool": {"filter": asked}}


def named(key: LogKey, index: str) -> dict[str, Any]:
    """Ask for a document by its name."""
    return {"_index": index, "_id": key.id, "routing": key.shard}
