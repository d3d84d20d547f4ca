"""What a notebook shows of a session: its tree when it is small, else the end of its history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..errors import NotFoundError, SapwoodError
from ..model import Message, Part, Position, Read, Root, SessionRecord
from ..model import notebook as html
from ..model.short_id import short

if TYPE_CHECKING:
    from ._async.stored_session import AsyncStoredSession
    from ._sync.stored_session import StoredSession

# So many messages are read at most, in pages that stop where they have become large.
PAGES = (8, 16, 36)
MOST_BYTES = 256 * 1024
LAST = 20
ROUNDS = 3


class AsyncSessionView:
    """Shows what is known without asking: nothing can be awaited here."""

    @staticmethod
    def html(stored: AsyncStoredSession) -> str:
        """Return the session's id and owner."""
        how = "nothing was read: await its record() or history() to see more"
        return html.page(stored.id, [f"of {stored.owner}"], [html.note(how)])


class SessionView:
    """Reads a little, whatever the session's length: sixty messages at most."""

    @staticmethod
    def html(stored: StoredSession) -> str:
        """Return the session's record, and its tree or the end of its history."""
        try:
            record = stored.record()
            tree = _small_tree(stored, record)
            body = _history_rows(stored) if tree is None else list(tree.rows())
        except NotFoundError:
            lazy = "its first write creates it" if stored.lazy else "it was deleted"
            return html.page(stored.id, [f"of {stored.owner}"], [html.note(f"not stored: {lazy}")])
        except SapwoodError as error:
            told = html.note(f"it cannot be read: {error}")
            return html.page(stored.id, [f"of {stored.owner}"], [told])
        title = record.title or short(record.id)
        return html.page(title, _facts(record, stored.owner), body)


def _facts(record: SessionRecord, owner: str) -> list[str]:
    parent = record.parent
    at = f" at depth {record.forked_at.depth}" if record.forked_at else ""
    budget = "" if record.budget is None else f" of {record.budget:,}"
    return [
        short(record.id) if record.title else "",
        f"of {owner}",
        html.many(record.messages, "message"),
        f"{record.context_tokens:,}{budget} tokens shown",
        record.state,
        f"{parent.kind.value} of {short(parent.session)}{at}" if parent else "",
        f"active {html.minute(record.active_at)}",
    ]


def _history_rows(stored: StoredSession) -> list[str]:
    history = stored.read(Read(limit=LAST, max_bytes=MOST_BYTES, backwards=True))
    above = ["⋮ the end of what the model is shown"] if history.more else []
    return [*map(html.note, above), *html.entry_rows(history.entries)]


class _SmallTree(NamedTuple):
    """All messages of a session, and what follows each; None is the root."""

    children: dict[str | None, list[Message]]
    on_path: set[str]
    tip: Position | None

    def rows(self) -> Iterator[str]:
        """Yield the path to the tip, with each branch beside the message that it leaves."""
        yield from self._chain(None) if self.children else [html.note("no messages")]

    def _chain(self, above: str | None) -> Iterator[str]:
        while below := self.children.get(above):
            following = next((it for it in below if it.id in self.on_path), below[0])
            for side in below:
                if side is not following:
                    yield html.indented([self._row(side), *self._chain(side.id)])
            yield self._row(following)
            above = following.id

    def _row(self, message: Message) -> str:
        return html.stored_row(message, *(["◀ tip"] if message.position == self.tip else []))


def _small_tree(stored: StoredSession, record: SessionRecord) -> _SmallTree | None:
    """Read all messages, if they are few and not large."""
    messages: list[Message] = []
    size = 0
    for limit in PAGES:
        after = messages[-1].position if messages else None
        page = stored.store.list_messages(stored.owner, stored.id, after=after, limit=limit)
        messages += page.messages
        size += sum(_size(part) for it in page.messages for part in it.parts)
        if not page.more:
            break
        if size > MOST_BYTES:
            return None
    else:
        return None
    parents = _parents(stored, [it.id for it in messages])
    if parents is None:
        return None
    known = {it.id for it in messages}
    children: dict[str | None, list[Message]] = {}
    for message in messages:
        above = _live_above(message.id, parents, known)
        children.setdefault(above, []).append(message)
    on_path: set[str] = set()
    place = record.tip if isinstance(record.tip, str) else None
    while place is not None:
        on_path.add(place)
        place = _live_above(place, parents, known)
    return _SmallTree(children, on_path, record.tip_position)


def _size(part: Part) -> int:
    return len(msgspec.json.encode(part))


def _parents(stored: StoredSession, ids: list[str]) -> dict[str, str | None] | None:
    """Find what messages follow, and what deleted ones among these do, unless these are many."""
    parents: dict[str, str | None] = {}
    for _ in range(ROUNDS):
        if not ids:
            return parents
        found = stored.store.find_parents(stored.owner, stored.id, ids)
        pairs = zip(ids, found, strict=True)
        parents |= {id: None if isinstance(above, Root) else above for id, above in pairs}
        ids = [it for it in parents.values() if it is not None and it not in parents]
    return None if ids else parents


def _live_above(id: str, parents: dict[str, str | None], known: set[str]) -> str | None:
    above = parents.get(id)
    while above is not None and above not in known:
        above = parents.get(above)
    return above
