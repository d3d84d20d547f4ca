"""Writing sessions out, a line at a time. Each session is as it was when its turn came."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._version import __version__
from ..model import (
    DataVersion,
    Gap,
    Leaf,
    Message,
    Position,
    Read,
    Root,
    SessionQuery,
    SessionRecord,
)
from ..store import Store
from .lines import (
    FORMAT,
    VERSION,
    DocumentLine,
    EndLine,
    FileLine,
    GapLine,
    Header,
    MarkLine,
    MessageLine,
    Origin,
    PlaceLine,
    SessionLine,
    UsageLine,
    encode_line,
    made_of,
)
from .named_session import MessageOrGap, NamedSession, PlaceOnPath, lasting_documents
from .overlays import OverlayEnds

PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
FIRST_LOOK = 64


@dataclass
class Exported:
    """What was written."""

    names: set[str] = field(default_factory=set)
    messages: int = 0


def export_lines(
    store: Store, owner: str, sessions: Sequence[str] | None, done: Exported
) -> Iterator[bytes]:
    """Write these sessions, or all of the owner's with the owner's documents.

    Raises `NotFoundError` for a session that is not there, before the first line; one of all that
    is deleted meanwhile is left out.
    """
    is_all = sessions is None
    names = all_names(store, owner) if sessions is None else list(dict.fromkeys(sessions))
    if not is_all:
        for name in names:
            _record_of(NamedSession(store, owner, name))
    yield encode_line(Header(format=FORMAT, version=VERSION, sapwood=__version__))
    if is_all:
        yield from map(encode_line, document_lines(store, owner, None))
    for name in in_order(store, owner, names):
        session = NamedSession(store, owner, name)
        yield from map(encode_line, SessionExport(session, done).lines(is_optional=is_all))
    yield encode_line(EndLine(sessions=len(done.names), messages=done.messages))


def _record_of(session: NamedSession) -> SessionRecord:
    return session.get_record(f"{session.owner!r} has no session {session.id!r}")


def all_names(store: Store, owner: str) -> list[str]:
    """Return the names of an owner's sessions of all kinds, the oldest first."""
    names: list[str] = []
    cursor = None
    while True:
        query = SessionQuery(kind=None, order="created", limit=PAGE, cursor=cursor)
        page = store.list_sessions(owner, query)
        names += [record.id for record in page.sessions]
        cursor = page.cursor
        if cursor is None:
            return names[::-1]


def in_order(store: Store, owner: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the names so that a session comes after those that it came out of."""
    left = set(names)
    for name in names:
        chain = [name] if name in left else []
        while chain and (above := _above(store, owner, chain[-1], left)) and above not in chain:
            chain.append(above)
        for link in reversed(chain):
            left.discard(link)
            yield link


def _above(store: Store, owner: str, name: str, wanted: Collection[str]) -> str | None:
    record = store.find_session(owner, name)
    if record is None:
        return None
    if record.parent is not None and record.parent.session in wanted:
        return record.parent.session
    if record.forked_at is None:
        return None
    leaves = store.list_leaves(owner, name)
    origin = find_origin(NamedSession(store, owner, name), record, leaves, wanted)
    return origin.session if origin else None


def find_origin(
    session: NamedSession, record: SessionRecord, leaves: Sequence[Leaf], others: Container[str]
) -> Origin | None:
    """Find the session, among others, that a fork came out of, and the message.

    A fork can be made of it again.
    """
    point = _fork_point(session, record, leaves)
    if point is None:
        return None
    home = None if isinstance(point, DataVersion) else point.home
    for name in (record.parent.session if record.parent else None, home):
        if name is None or name == record.id or name not in others:
            continue
        other = session._replace(id=name)
        if other.find_record() is None:
            continue
        seen = other.find_named(point.id)
        if seen is not None and seen.position == point.position:
            return Origin(session=name, message=point.id)
    return None


def _fork_point(
    session: NamedSession, record: SessionRecord, leaves: Sequence[Leaf]
) -> PlaceOnPath | None:
    """Find the message that a fork goes on from, deleted or not, or the mark."""
    point = record.forked_at
    if point is None:
        return None
    held = session.store.read_data(session.owner, session.id, point) if session.has_data else None
    if held is not None and held.position == point:
        return session.find_named(held.id)
    for leaf in leaves:
        if leaf.position.depth >= point.depth and (found := session.find_at(leaf.id, point)):
            return found
    return None


class SessionExport:
    """One session on its way out."""

    def __init__(self, session: NamedSession, done: Exported) -> None:
        self._session = session
        self._done = done
        self.leaves: list[Leaf] = []
        self.gaps: dict[str, Gap] = {}
        """Those that were given, by their ids."""

    def lines(self, is_optional: bool) -> Iterator[FileLine]:
        """Yield the session's lines; of one that is gone, none if it is optional."""
        store, owner, name = self._session
        record = self._session.find_record()
        if record is None and is_optional:
            return
        record = record or _record_of(self._session)
        # What names messages is read before the branches are: all that it names is on them.
        overlays = store.list_overlays(owner, name)
        documents = list(document_lines(store, owner, name))
        leaves = self.leaves = store.list_leaves(owner, name)
        origin = find_origin(self._session, record, leaves, self._done.names)
        self._done.names.add(name)
        yield made_of(
            SessionLine, record, session_kind=record.kind, fork=origin, tip=tip_of(record)
        )
        yield from documents
        ends = OverlayEnds(self._session, overlays)
        walk = SessionWalk(self._session, skip_inherited=origin is not None)
        if origin is not None:
            walk.inherits(record.forked_at)
        for step in walk.steps(leaves):
            if not isinstance(step.place, DataVersion):
                ends.meet(step.place)
            yield self._place_line(step)
        yield from ends.lines(leaves)
        yield from (made_of(UsageLine, it) for it in store.total_usage(owner, name))

    def _place_line(self, step: WalkStep) -> PlaceLine:
        if isinstance(step.place, Gap):
            self.gaps[step.place.id] = step.place
            return GapLine(id=step.place.id, parent=step.parent, data=step.data)
        if isinstance(step.place, DataVersion):
            return MarkLine(id=step.place.id, parent=step.parent, data=step.place.value)
        self._done.messages += 1
        return _message_line(step.place, step.parent, step.data)


def tip_of(record: SessionRecord) -> str | None:
    """Return the tip, deleted or not; None is the root."""
    return None if isinstance(record.tip, Root) else record.tip


def document_lines(store: Store, owner: str, session: str | None) -> Iterator[DocumentLine]:
    """Yield the documents that stay."""
    for document in lasting_documents(store, owner, session):
        yield DocumentLine(key=document.key, value=document.value, inherit=document.inherit)


def _message_line(message: Message, parent: str | None, data: dict[str, Any] | None) -> MessageLine:
    return MessageLine(
        id=message.id,
        parent=parent,
        role=message.role,
        parts=message.parts,
        metadata=message.metadata,
        tokens=message.tokens,
        created_us=message.created_us,
        home=message.home,
        extra=message.extra,
        name=message.name,
        data=data,
    )


class WalkStep(NamedTuple):
    """A message, a gap or a mark, the id of what stands above it, and its own data."""

    place: PlaceOnPath
    parent: str | None
    data: dict[str, Any] | None = None


class SessionWalk:
    """The walk through one session; with `skip_inherited`, only through what it wrote itself."""

    def __init__(self, session: NamedSession, *, skip_inherited: bool) -> None:
        self._session = session
        self._store, self._owner, self._name = session
        self._skip_inherited = skip_inherited
        self._given: dict[str, int] = {}
        self._inherited: set[Position] = set()
        """Where inherited versions of the data stand: a version does not say whose it is."""

    def inherits(self, point: Position | None) -> None:
        """Pass over the marks on the path to a fork point, too."""
        self._inherited = {it.position for it in self._session.versions(point)}

    def steps(self, leaves: Sequence[Leaf]) -> Iterator[WalkStep]:
        """Yield what stands on the paths to these leaves."""
        for leaf in leaves:
            above = self._last_given(leaf.id) if self._given or self._skip_inherited else None
            depth, parent = (above.depth, above.id) if above else (0, None)
            for place, data in self._with_data(leaf, depth):
                if not self._is_given(place):
                    yield WalkStep(place, parent, data)
                    self._given[place.position.segment] = place.position.depth
                parent = place.id

    def _with_data(
        self, leaf: Leaf, depth: int
    ) -> Iterator[tuple[PlaceOnPath, dict[str, Any] | None]]:
        """Yield what stands on the path below a depth, with its data, and marks among it."""
        versions = deque[DataVersion]()
        if leaf.message is None or leaf.message.data_at is not None:
            found = self._session.versions(leaf.position)
            versions.extend(it for it in reversed(found) if it.position.depth > depth)
        for place in self._path(leaf, depth):
            while versions and versions[0].position.depth < place.position.depth:
                yield versions.popleft(), None
            is_own = versions and versions[0].position == place.position
            yield place, versions.popleft().value if is_own else None
        for version in versions:
            yield version, None

    def _path(self, leaf: Leaf, depth: int) -> Iterator[MessageOrGap]:
        """Yield what stands on the path below a depth; gaps are looked for where depths miss."""
        for message in self._below(leaf.id, depth):
            if message.depth > depth + 1:
                yield from self._gaps(message.id, depth, message.depth)
            yield message
            depth = message.depth
        if leaf.position.depth > depth:
            yield from self._gaps(leaf.id, depth, leaf.position.depth + 1)

    def _gaps(self, leaf: str, after: int, before: int) -> Iterator[MessageOrGap]:
        gaps = self._store.list_gaps(self._owner, self._name, leaf, after=after)
        return (gap for gap in gaps if gap.position.depth < before)

    def _below(self, leaf: str, depth: int) -> Iterator[Message]:
        more = True
        while more:
            query = Read(leaf=leaf, overlays=False, after=depth, limit=PAGE, max_bytes=PAGE_BYTES)
            history = self._store.read(self._owner, self._name, query)
            yield from history.messages_only
            more = history.more
            depth = history.messages_only[-1].depth if history.messages_only else depth

    def _last_given(self, leaf: str) -> Message | None:
        """Find the deepest message of a path that was given before."""
        query = Read(leaf=leaf, overlays=False, limit=FIRST_LOOK, backwards=True)
        history = self._store.read(self._owner, self._name, query)
        for message in reversed(history.messages_only):
            if self._is_given(message):
                return message
        return self._search(leaf, history.messages_only[0].depth) if history.more else None

    def _search(self, leaf: str, below: int) -> Message | None:
        """Halve the path above a depth: what was given is a beginning of it."""
        found, low, high = None, 0, below - 1
        while low < high:
            middle = (low + high + 1) // 2
            message = self._session.find_live(leaf, before=middle + 1)
            if message is None or self._is_given(message):
                found, low = message or found, middle
            else:
                high = message.depth - 1
        return found

    def _is_given(self, place: PlaceOnPath) -> bool:
        if isinstance(place, DataVersion):
            if place.position in self._inherited:
                return True
        elif self._skip_inherited and place.home != self._name:
            return True
        return place.position.depth <= self._given.get(place.position.segment, 0)
