"""Making sessions: the log first, which nobody knows of, then the entry that makes it known."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from ....errors import SapwoodError, StoreCorruptError, StoreError
from ....model import EdgeKind, ForkPoint, NewSession
from ....rules.codec import MARK_ROLE
from ...base.refusals import session_exists
from ..documents import copied
from ..errors import BehindError
from ..fold import first_version, fold, turn_page
from ..log_documents import LogEntry, digest, document_at, entry_of, record_key, value_key
from ..record import Record, stored_record
from ..rows import LogRow, first_digest
from ..session_record import patched
from ..state import NO_PROFILE, LaidOverlay, LogState, encode_state
from ..view import LogView
from ..work import (
    Append,
    AppendedMessage,
    BeginFork,
    Erase,
    ErasedPlace,
    LogWork,
    WritePage,
    log_of,
    to_wire,
)
from .data import stored_data
from .documents import values_of
from .history import PathEnd, covers_of, end_of
from .leftovers import finish_leftovers
from .logs import AsyncLogs, Decision, again
from .rows import stream

COPIED_AT_ONCE = 256
COPIED_BYTES = 1024 * 1024


async def create(logs: AsyncLogs, owner: str, new: NewSession) -> LogState:
    """Create a session; another one of its name, created meanwhile, is an error."""
    return await again(lambda: _try_to_create(logs, owner, new))


async def _try_to_create(logs: AsyncLogs, owner: str, new: NewSession) -> LogState:
    """Create a session; begin again when its entry was taken: by another, or by who refused it."""
    k, found = await logs.find_current(owner, new.id)
    if found is not None:
        raise session_exists(new.id)
    if new.parent is not None:
        await logs.current(owner, new.parent.session)
    born = await _unborn(logs, owner, new, k + 1)
    if new.fork is not None:
        born = await _fork(logs, owner, born, new, new.fork)
    else:
        await _begin(logs, born)
    entry = LogEntry(owner, new.id, k + 1, born.tree, born.log)
    if not await logs.driver.create(entry.stored()) and not await _is_ours(logs, entry):
        await _give_up(logs, born)
        raise BehindError
    logs.cache.keep(born)
    logs.cache.name(born)
    return born


async def _is_ours(logs: AsyncLogs, entry: LogEntry) -> bool:
    """Whether an entry is there because an answer was lost."""
    [stored] = await logs.driver.get([entry.key])
    return stored is not None and entry_of(stored) == entry


async def _unborn(logs: AsyncLogs, owner: str, new: NewSession, k: int) -> LogState:
    now = await logs.now()
    # Names of logs sort by the time of their creation, and are never made twice.
    log = f"{logs.cache.stamp(now):014x}{digest(logs.new_id())[:16]}"
    created = now if new.created_us is None else new.created_us
    edge = None
    if new.parent is not None:
        edge = (new.parent.kind.value, new.parent.session)
    elif new.fork is not None:
        edge = (EdgeKind.BRANCH.value, new.fork.session)
    return LogState(
        tree=log,
        log=log,
        owner=owner,
        session=new.id,
        k=k,
        profile=patched(NO_PROFILE, new),
        parent=edge,
        version=first_version(k),
        created_us=created,
        active_us=created,
        updated_us=now,
    )


async def _fork(
    logs: AsyncLogs, owner: str, born: LogState, new: NewSession, point: ForkPoint
) -> LogState:
    """Let a session go on from a message of another: on its path, or on a copy of it."""
    if point.detach:
        return await again(lambda: _detach(logs, owner, born, new, point))
    key = LogEntry(owner, born.session, born.k).key
    begun: list[LogState] = []

    async def decide(state: LogState) -> Decision[LogState]:
        view = await logs.view(state)
        end = await end_of(logs, view, point.message)
        standing = _standing(born, view, new, end)
        begun.append(standing)
        await _copy_documents(logs, state, standing)
        # From here on the ids above it are looked up, and not read from the source's log.
        await finish_leftovers(logs, state)
        at = end[0] and to_wire(end[0], state.log)
        return BeginFork(key.shard, key.id, born.log, at), standing

    try:
        _, standing = await logs.change(owner, point.session, decide)
    except SapwoodError:
        with suppress(StoreError):
            for it in begun:
                await _give_up(logs, it)
        raise
    # Of a document that was replaced meanwhile there are two copies.
    stale = {copy for it in begun for copy in it.copies} - set(standing.copies)
    await logs.driver.delete([value_key(standing.tree, standing.log, *it) for it in sorted(stale)])
    await _begin(logs, standing)
    return standing


def _standing(born: LogState, view: LogView, new: NewSession, at: PathEnd) -> LogState:
    source = view.own
    place, id, base = at
    logs = dict.fromkeys(log_of(span.segment) for span in view.spans(place))
    epochs = {**dict(source.homes), source.log: source.epoch}
    return replace(
        _dressed(born, source, new),
        tree=source.tree,
        tip=place,
        tip_id=id,
        tip_base=base,
        fork=place,
        fork_id=id,
        fork_data=view.data_at(place),
        homes=[(log, epochs[log]) for log in logs],
        overlays=[it for it in source.overlays if view.on_path(it.last, place)],
    )


def _dressed(born: LogState, source: LogState, new: NewSession) -> LogState:
    documents = copied(source, born.k)
    return replace(
        born,
        profile=patched(replace(source.profile, title=None, closed=False), new),
        documents=documents,
        copies=[(key, kept.n) for key, kept in documents.items()],
    )


async def _copy_documents(logs: AsyncLogs, source: LogState, born: LogState) -> None:
    values = await values_of(logs, [(source, key) for key in born.documents])
    copies = [
        document_at(value_key(born.tree, born.log, *copy), value)
        for copy, value in zip(born.copies, values, strict=True)
    ]
    await logs.driver.create_all(copies)


async def _detach(
    logs: AsyncLogs, owner: str, born: LogState, new: NewSession, point: ForkPoint
) -> LogState:
    """Copy a path into a log of its own, record by record; nobody sees it before it is whole."""
    source = await logs.current(owner, point.session)
    view = await logs.view(source)
    place, _, _ = await end_of(logs, view, point.message)
    # Another try has a log of its own: nothing of this one is in its way.
    log = f"{born.log[:14]}{digest(logs.new_id())[:16]}"
    born = _dressed(replace(born, tree=log, log=log), source, new)
    await _copy_documents(logs, source, born)
    copying = _NewLog(logs, born)
    try:
        await _begin(logs, born)
        spans = [*reversed([*view.spans(place)])]
        async for rows in stream(logs, view, spans, backwards=False, page=COPIED_AT_ONCE):
            await copying.take([_left(view, row) for row in rows] if view.has_data else rows)
        await copying.cover(source, [it for it in source.overlays if view.on_path(it.last, place)])
        return await copying.end()
    except (BehindError, SapwoodError) as error:
        with suppress(StoreError):
            await _give_up(logs, copying.state)
        if isinstance(error, StoreCorruptError) and await logs.are_over([source]):
            raise BehindError from None
        raise


async def _begin(logs: AsyncLogs, born: LogState) -> None:
    """Write the first record of a log, with the state that it begins with."""
    await _write(logs, born, WritePage(), encode_state(born))


async def _write(logs: AsyncLogs, after: LogState, work: LogWork, data: bytes | None) -> None:
    record = Record(logs.new_id(), await logs.stamp(), work, data)
    await logs.driver.create(stored_record(after, record))


async def _give_up(logs: AsyncLogs, born: LogState) -> None:
    """Empty a log that nobody will know of; what was copied into it is left nowhere."""
    await logs.driver.blank([record_key(born.tree, born.log, n) for n in range(born.n + 1)])
    await logs.driver.delete([value_key(born.tree, born.log, *it) for it in born.copies])


class _NewLog:
    """A detached fork on its way: its path is one segment, in which every depth stays."""

    def __init__(self, logs: AsyncLogs, born: LogState) -> None:
        self._logs = logs
        self._born = born
        self.state = born
        self._bases: list[int] = [0]

    async def take(self, rows: Sequence[LogRow]) -> None:
        """Copy messages as they are, those that were erased too."""
        group: list[LogRow] = []
        size = 0
        for row in rows:
            size += len(row.body or b"")
            if group and size > COPIED_BYTES:
                await self._append(group)
                group, size = [], len(row.body or b"")
            group.append(row)
        await self._append(group)

    async def _append(self, rows: Sequence[LogRow]) -> None:
        said = [_copied(row) for row in rows]
        first, base = len(self._bases), self._bases[-1]
        at_us, is_new = self._born.created_us, not self.state.segments
        await self._record(Append(at_us, 1, first, is_new, None, base, said))
        for it in said:
            self._bases.append(self._bases[-1] + it.tokens)
        n = self.state.n
        spots = [
            ErasedPlace(("", 1, depth), n, 0, it.id, told=False)
            for depth, it in enumerate(said, first)
            if it.body is None and not it.is_mark
        ]
        if spots:
            await self._record(Erase(at_us, spots))

    async def cover(self, source: LogState, laid: Sequence[LaidOverlay]) -> None:
        """Copy overlays."""
        for it, work in zip(laid, await covers_of(self._logs, source, laid), strict=True):
            first, last = it.first.depth, it.last.depth
            copy = replace(
                work,
                first=("", 1, first),
                last=("", 1, last),
                above=self._bases[first - 1],
                base=self._bases[last],
                stamp=await self._logs.stamp(),
            )
            await self._record(copy)

    async def _record(self, work: LogWork) -> None:
        self.state = fold(self.state, work)
        await _write(self._logs, self.state, work, None)

    async def end(self) -> LogState:
        """Write a page, so that the log is read from there."""
        await finish_leftovers(self._logs, replace(self.state, litter=[]))
        work = WritePage(self._born.active_us, self._born.updated_us)
        state = turn_page(self.state, fold(self.state, work))
        data = encode_state(state)
        await _write(self._logs, state, work, data)
        return replace(state, page_bytes=len(data))


def _left(view: LogView, row: LogRow) -> LogRow:
    return row._replace(data=stored_data(view, row))


def _copied(row: LogRow) -> AppendedMessage:
    if row.is_mark:
        return AppendedMessage(row.id, MARK_ROLE, 0, row.created_us, None, data=row.data)
    if row.body is None:
        return AppendedMessage(row.id, None, 0, row.created_us, None, version=0, data=row.data)
    return AppendedMessage(
        row.id,
        row.role,
        row.tokens,
        row.created_us,
        row.body,
        version=row.version,
        digest=first_digest(row) if row.version > 1 else row.digest,
        data=row.data,
    )
