"""The end of a session's path: where it stands is known, and only what is shown of it is read."""

from __future__ import annotations

from itertools import islice

from msgspec.structs import replace

from ....model import ROOT, Document, Recent
from ....rules.recent import RECENT_MESSAGES, RECENT_PLACES, TOOL
from ....rules.tree import LINEAGE_CAP, Place, Span
from ..documents import document_of, is_expired
from ..rows import LogRow, message_of
from ..view import LogView
from ..work import public
from .documents import values_of
from .logs import AsyncLogs
from .looks import is_empty
from .rows import rows_in_all

READ_AT_ONCE = 2 * RECENT_MESSAGES


async def find_recent(logs: AsyncLogs, view: LogView, key: str | None) -> Recent:
    """Find the end of the path to a session's tip, and a document of the session."""
    own, most = view.own, LINEAGE_CAP + 1
    spans = list(islice(view.spans(own.tip), most + 1))
    places = list(
        islice((Place(it.segment, at) for it in spans for at in _downwards(it)), RECENT_PLACES)
    )
    shown = await _shown(logs, view, [it for it in places if not is_empty(view, it)])
    return Recent(
        tip=ROOT if own.tip_id is None else own.tip_id,
        messages=[replace(message_of(it, view), data_at=None) for it in reversed(shown)],
        empty=[it.depth for it in reversed(places) if is_empty(view, it)],
        trail=[public(Place(it.segment, it.last)) for it in spans[:most]],
        is_whole=len(spans) <= most,
        document=None if key is None else await _document(logs, view, key),
    )


def _downwards(span: Span) -> range:
    return range(span.last, span.first - 1, -1)


async def _shown(logs: AsyncLogs, view: LogView, live: list[Place]) -> list[LogRow]:
    """Read messages from the tip up until there are enough that are shown."""
    shown: list[LogRow] = []
    for start in range(0, len(live), READ_AT_ONCE):
        some = [Span(it.segment, it.depth, it.depth) for it in live[start : start + READ_AT_ONCE]]
        shown += [row for row in await rows_in_all(logs, view, some) if row.role != TOOL]
        if len(shown) >= RECENT_MESSAGES:
            break
    return shown[:RECENT_MESSAGES]


async def _document(logs: AsyncLogs, view: LogView, key: str) -> Document | None:
    kept = view.own.documents.get(key)
    if kept is None or is_expired(kept, await logs.now()):
        return None
    [value] = await values_of(logs, [(view.own, key)])
    return document_of(key, kept, value)
