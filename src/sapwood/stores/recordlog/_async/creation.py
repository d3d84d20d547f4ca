"""Making sessions: the log first, which nobody knows of, then the entry that makes it known."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from ....errors import SapwoodError, StoreCorruptError, StoreError
from ....model import EdgeKind, ForkPoint, NewSession, Root, SessionPatch
from ....rules.tree import Place
from ...base.refusals import session_exists
from ..entry import LogEntry, entry_of, stored_entry
from ..errors import BehindError
from ..log_documents import digest, value_key
from ..lookup import copied_value
from ..place import log_of, to_wire
from ..profile import patched
from ..state import NO_PROFILE, LogState
from ..view import LogView
from ..work import BeginFork, LogProfile
from .documents import copied, values_of
from .leftovers import finish_leftovers
from .logs import TRIES, AsyncLogs, Decision, busy
from .message_places import get_place
from .new_log import COPIED_AT_ONCE, AsyncNewLog, begin, give_up
from .rows import rows_at, stream


async def create(logs: AsyncLogs, owner: str, new: NewSession) -> LogState:
    """Create a session; another one of its name, created meanwhile, is an error."""
    for _ in range(TRIES):
        born = await _try_to_create(logs, owner, new)
        if born is not None:
            return born
    raise busy()


async def _try_to_create(logs: AsyncLogs, owner: str, new: NewSession) -> LogState | None:
    """Create a session; None when its entry was taken: by another, or by who refused a fork."""
    k, found = await logs.find_current(owner, new.id)
    if found is not None:
        raise session_exists(new.id)
    if new.parent is not None:
        await logs.current(owner, new.parent.session)
    born = await _unborn(logs, owner, new, k + 1)
    if new.fork is not None:
        born = await _fork(logs, owner, born, new, new.fork)
    else:
        await begin(logs, born)
    entry = LogEntry(owner, new.id, k + 1, born.tree, born.log)
    if not await logs.driver.create(stored_entry(entry)) and not await _is_ours(logs, entry):
        await give_up(logs, born)
        return None
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
        profile=_profile(NO_PROFILE, new),
        parent=edge,
        created_us=created,
        active_us=created,
    )


def _profile(profile: LogProfile, new: NewSession) -> LogProfile:
    given = {name: getattr(new, name) for name in SessionPatch.__struct_fields__}
    return patched(profile, SessionPatch(**given))


Point = tuple[Place | None, str | None, int]
"""A position, the id of the message there, and the tokens down to it."""


async def _fork(
    logs: AsyncLogs, owner: str, born: LogState, new: NewSession, point: ForkPoint
) -> LogState:
    """Let a session go on from a message of another: on its path, or on a copy of it."""
    if point.detach:
        for _ in range(TRIES):
            try:
                return await _detach(logs, owner, born, new, point)
            except BehindError:
                continue
        raise busy()
    key = LogEntry(owner, born.session, born.k).key
    begun: list[LogState] = []

    async def decide(state: LogState) -> Decision:
        view = await logs.view(state)
        at = await _point(logs, view, point.message)
        standing = _standing(born, view, new, at)
        begun.append(standing)
        await _copy_documents(logs, state, standing)
        # From here on the ids above it are looked up, and not read from the source's log.
        await finish_leftovers(logs, state)
        return Decision(BeginFork(key.shard, key.id, born.log, to_wire(at[0], state.log)), standing)

    try:
        _, standing = await logs.change(owner, point.session, decide)
    except SapwoodError:
        with suppress(StoreError):
            for it in begun:
                await give_up(logs, it)
        raise
    assert isinstance(standing, LogState)
    # Of a document that was replaced meanwhile there are two copies.
    stale = {copy for it in begun for copy in it.copies} - set(standing.copies)
    if stale:
        await logs.driver.delete(
            [value_key(standing.tree, standing.log, *it) for it in sorted(stale)]
        )
    await begin(logs, standing)
    return standing


async def _point(logs: AsyncLogs, view: LogView, message: str | Root | None) -> Point:
    own = view.own
    if message is None or message == own.tip_id:
        return own.tip, own.tip_id, own.tip_base
    if isinstance(message, Root):
        return None, None, 0
    spotted = await get_place(logs, own, message)
    rows = await rows_at(logs, view, [spotted])
    return spotted.place, message, rows[spotted.place].base


def _standing(born: LogState, view: LogView, new: NewSession, at: Point) -> LogState:
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
        homes=[(log, epochs[log]) for log in logs],
        overlays=[it for it in source.overlays if view.on_path(it.last, place)],
    )


def _dressed(born: LogState, source: LogState, new: NewSession) -> LogState:
    documents = copied(source, born.k)
    return replace(
        born,
        profile=_profile(replace(source.profile, title=None), new),
        documents=documents,
        copies=[(key, kept.n) for key, kept in documents.items()],
    )


async def _copy_documents(logs: AsyncLogs, source: LogState, born: LogState) -> None:
    keys = list(born.documents)
    values = await values_of(logs, source, keys)
    copies = [
        copied_value(born.tree, born.log, key, born.documents[key].n, value)
        for key, value in zip(keys, values, strict=True)
    ]
    if copies:
        await logs.driver.create_all(copies)


async def _detach(
    logs: AsyncLogs, owner: str, born: LogState, new: NewSession, point: ForkPoint
) -> LogState:
    """Copy a path into a log of its own, record by record; nobody sees it before it is whole."""
    source = await logs.current(owner, point.session)
    view = await logs.view(source)
    place, _, _ = await _point(logs, view, point.message)
    # Another try has a log of its own: nothing of this one is in its way.
    log = f"{born.log[:14]}{digest(logs.new_id())[:16]}"
    born = _dressed(replace(born, tree=log, log=log), source, new)
    await _copy_documents(logs, source, born)
    copying = AsyncNewLog(logs, born)
    try:
        await copying.begin()
        spans = [*reversed([*view.spans(place)])]
        async for rows in stream(logs, view, spans, backwards=False, page=COPIED_AT_ONCE):
            await copying.take(rows)
        await copying.cover(source, [it for it in source.overlays if view.on_path(it.last, place)])
        return await copying.end()
    except (BehindError, SapwoodError) as error:
        with suppress(StoreError):
            await copying.give_up()
        if isinstance(error, StoreCorruptError) and await logs.are_over([source]):
            raise BehindError from None
        raise
