"""What the model's provider said a call really cost, kept to measure the context by."""

from __future__ import annotations

import msgspec

from ..model import Document

KEY = "reported"


class SizeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A call's real size at a message: `tokens` up to and with it, where the estimate said
    `estimate` for the history and `overhead` for prompt and tools."""

    message: str
    segment: str
    depth: int
    tokens: int
    estimate: int
    overhead: int


def size_report_in(document: Document | None) -> SizeReport | None:
    """Read the document; one that cannot be read counts as none, since it is only a measure."""
    if document is None:
        return None
    try:
        return msgspec.json.decode(document.value, type=SizeReport)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
