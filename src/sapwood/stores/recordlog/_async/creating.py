"""Making sessions: the log first, which nobody knows of, then the entry that makes it known."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from ....errors import SapwoodError, StoreCorruptError, StoreError
from ....model import EdgeKind, ForkPoint, NewSession, Root, SessionPatch
from ....rules.tree import Place
from ...base.refusals import session_exists
from ..entry import Entry, entry_of, stored_entry
from ..lookup import copied_value
from ..place import log_of, to_wire
from ..profile import patched
from ..state import NO_PROFILE, State
from ..stored import digest, value_key
from ..told import BehindError
from ..view import View
from ..work import Pin, Profile
from .beside import settle_beside
from .copying import COPIED_AT_ONCE, AsyncCopying, begin, give_up
from .desk import TRIES, AsyncDesk, Decision, busy
from .documents import copied, values_of
from .rows import rows_at, stream
from .spots import get_spot


async def create(desk: AsyncDesk, owner: str, new: NewSession) -> State:
    """Create a session; another one of its name, created meanwhile, is an error."""
    for _ in range(TRIES):
        born = await _try_to_create(desk, owner, new)
        if born is not None:
            return born
    raise busy()


async def _try_to_create(desk: AsyncDesk, owner: str, new: NewSession) -> State | None:
    """Create a session; None when its entry was taken: by another, or by who refused a fork."""
    k, found = await desk.find_current(owner, new.id)
    if found is not None:
        raise session_exists(new.id)
    if new.parent is not None:
        await desk.current(owner, new.parent.session)
    born = await _unborn(desk, owner, new, k + 1)
    if new.fork is not None:
        born = await _fork(desk, owner, born, new, new.fork)
    else:
        await begin(desk, born)
    entry = Entry(owner, new.id, k + 1, born.tree, born.log)
    if not await desk.log.create(stored_entry(entry)) and not await _is_ours(desk, entry):
        await give_up(desk, born)
        return None
    desk.cache.keep(born)
    desk.cache.name(born)
    return born


async def _is_ours(desk: AsyncDesk, entry: Entry) -> bool:
    """Tell whether an entry is there because an answer was lost."""
    [stored] = await desk.log.get([entry.key])
    return stored is not None and entry_of(stored) == entry


async def _unborn(desk: AsyncDesk, owner: str, new: NewSession, k: int) -> State:
    now = await desk.now()
    # Names of logs sort by the time of their creation, and are never made twice.
    log = f"{desk.cache.stamp(now):014x}{digest(desk.new_id())[:16]}"
    created = now if new.created_us is None else new.created_us
    edge = None
    if new.parent is not None:
        edge = (new.parent.kind.value, new.parent.session)
    elif new.fork is not None:
        edge = (EdgeKind.BRANCH.value, new.fork.session)
    return State(
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


def _profile(profile: Profile, new: NewSession) -> Profile:
    patch = SessionPatch(
        title=new.title, state=new.state, tags=new.tags, data=new.data, budget=new.budget
    )
    return patched(profile, patch)


Point = tuple[Place | None, str | None, int]
"""A position, the id of the message there, and the tokens down to it."""


async def _fork(
    desk: AsyncDesk, owner: str, born: State, new: NewSession, point: ForkPoint
) -> State:
    """Let a session go on from a message of another: on its path, or on a copy of it."""
    if point.detach:
        for _ in range(TRIES):
            try:
                return await _detach(desk, owner, born, new, point)
            except BehindError:
                continue
        raise busy()
    key = Entry(owner, born.session, born.k).key
    begun: list[State] = []

    async def decide(state: State) -> Decision:
        view = await desk.view(state)
        at = await _point(desk, view, point.message)
        standing = _standing(born, view, new, at)
        begun.append(standing)
        await _copy_documents(desk, state, standing)
        # From here on the ids above it are looked up, and not read from the source's log.
        await settle_beside(desk, state)
        return Decision(Pin(key.shard, key.id, born.log, to_wire(at[0], state.log)), standing)

    try:
        _, standing = await desk.change(owner, point.session, decide)
    except SapwoodError:
        with suppress(StoreError):
            for it in begun:
                await give_up(desk, it)
        raise
    assert isinstance(standing, State)
    # Of a document that was replaced meanwhile there are two copies.
    stale = {copy for it in begun for copy in it.copies} - set(standing.copies)
    if stale:
        await desk.log.delete([value_key(standing.tree, standing.log, *it) for it in sorted(stale)])
    await begin(desk, standing)
    return standing


async def _point(desk: AsyncDesk, view: View, message: str | Root | None) -> Point:
    own = view.own
    if message is None or message == own.tip_id:
        return own.tip, own.tip_id, own.tip_base
    if isinstance(message, Root):
        return None, None, 0
    spotted = await get_spot(desk, own, message)
    rows = await rows_at(desk, view, [spotted])
    return spotted.place, message, rows[spotted.place].base


def _standing(born: State, view: View, new: NewSession, at: Point) -> State:
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


def _dressed(born: State, source: State, new: NewSession) -> State:
    documents = copied(source, born.k)
    return replace(
        born,
        profile=_profile(replace(source.profile, title=None), new),
        documents=documents,
        copies=[(key, kept.n) for key, kept in documents.items()],
    )


async def _copy_documents(desk: AsyncDesk, source: State, born: State) -> None:
    keys = list(born.documents)
    values = await values_of(desk, source, keys)
    copies = [
        copied_value(born.tree, born.log, key, born.documents[key].n, value)
        for key, value in zip(keys, values, strict=True)
    ]
    if copies:
        await desk.log.create_all(copies)


async def _detach(
    desk: AsyncDesk, owner: str, born: State, new: NewSession, point: ForkPoint
) -> State:
    """Copy a path into a log of its own, record by record; nobody sees it before it is whole."""
    source = await desk.current(owner, point.session)
    view = await desk.view(source)
    place, _, _ = await _point(desk, view, point.message)
    # Another try has a log of its own: nothing of this one is in its way.
    log = f"{born.log[:14]}{digest(desk.new_id())[:16]}"
    born = _dressed(replace(born, tree=log, log=log), source, new)
    await _copy_documents(desk, source, born)
    copying = AsyncCopying(desk, born)
    try:
        await copying.begin()
        spans = [*reversed([*view.spans(place)])]
        async for rows in stream(desk, view, spans, backwards=False, page=COPIED_AT_ONCE):
            await copying.take(rows)
        await copying.cover(source, [it for it in source.overlays if view.on_path(it.last, place)])
        return await copying.end()
    except (BehindError, SapwoodError) as error:
        with suppress(StoreError):
            await copying.give_up()
        if isinstance(error, StoreCorruptError) and await desk.are_over([source]):
            raise BehindError from None
        raise
