"""Forks in few round trips on MariaDB: a block that locks, a look at sums, a block that writes.

At the tip the context is the source's, and there is nothing to look at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from msgspec import UNSET
from sqlalchemy import (
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    true,
    union,
    union_all,
    update,
)

from ...errors import MessageTooLargeError, StoreCorruptError
from ...model import ROOT, EdgeKind, ForkPoint, NewSession, SessionRecord
from ...rules.codec import encode_json
from ...rules.tree import LINEAGE_CAP, Cover, Span, resolve_up, spans_up
from ..relational.listed import packed_system, title_key
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, place_of, unpack_place
from ..relational.rows import KIND_RECORD, PINS_KEY, Profile, SessionRow, pinned_ids
from ..relational.walk import pins_under
from .direct import Compound, has_compounds, number
from .feed import newest_after, newest_message
from .listing import put_tags
from .locks import lock_owner
from .lookup import is_seen, key_of, pack_tags, session_columns
from .sessions import SqlSessionStatements
from .tables import FLOOR, Tables
from .tx import Tx, select_by

_LOCK = """BEGIN NOT ATOMIC
DECLARE sapwood_locked, sapwood_at_tree, sapwood_at_source BIGINT;
{} INTO sapwood_locked; {} INTO sapwood_at_tree; {} INTO sapwood_locked;
{} INTO sapwood_at_source; {}; END"""
"""Not with SET, which would lock whatever it reads, and so the session before the tree."""
_WRITE = """BEGIN NOT ATOMIC DECLARE sapwood_new_home, sapwood_new_fork BIGINT;
{}; SET sapwood_new_home = LAST_INSERT_ID(); {};
{}; SET sapwood_new_fork = LAST_INSERT_ID(); {}; {}; {}; {}; {}; {}; END"""
_TREE: Any = literal_column("sapwood_at_tree")
_SOURCE: Any = literal_column("sapwood_at_source")
_HOME: Any = literal_column("sapwood_new_home")
_FORK: Any = literal_column("sapwood_new_fork")
_NUMBER = select_by("session", "key", of=["number"])
_EDIT, _PIN = 0, -1
"""What stands in the place of an overlay's number in the other rows of a look."""


class _Point(NamedTuple):
    """Where a fork is to stand, and what it takes over, as it is read with its source locked."""

    floor: int | None
    tags: bytes
    budget: int | None
    attributes: bytes
    model: bytes | None
    origin: bytes | None
    pins: bytes | None
    pos: int
    home: int
    id: bytes | str | None
    running: int
    writer: int
    lineage: bytes | None


def fork_at_once(tx: Tx, owner: str, new: NewSession, point: ForkPoint) -> SessionRecord | None:
    """Fork a session; None, and nothing written, when it has to be planned."""
    if tx.fills_columns or not has_compounds(tx.conn.dialect):
        return None
    parent = point.session if new.parent is None else new.parent.session
    found = _find(tx, owner, new.id, parent, point)
    if found is None or found[0].has_data:
        return None
    source, at = found
    path = spans_up(unpack_place(at.pos), tx.lineage)
    ranges = [bounds(span) for span in islice(path, LINEAGE_CAP + 1)]
    if len(ranges) > LINEAGE_CAP:
        return None
    context = source.context if at.pos == source.tip else None
    if context is None:
        context = _context(tx, source, at, ranges)
    if context is None:
        return None
    now = tx.now() if new.created_us is None else new.created_us
    version, kind = (at.floor or 0) + 1, source.kind if new.kind is UNSET else new.kind
    profile = _profile(source.owner, new, parent, at)
    session = {
        **{"owner": source.owner, "id": new.id, "key": key_of(owner, new.id), "kind": kind},
        **{"tree": source.tree, "tip": at.pos, "context": context, "version": version},
    }
    values = {f"new_{key}": value for key, value in (profile._asdict() | session).items()} | {
        "now": now,
        **{"written_at": tx.now(), "written_s": tx.now() // 1_000_000},
        "now_s": now // 1_000_000,
        "owner": source.owner,
        "source": source.number,
        "writer": at.writer,
        "at_home": at.home,
        **_ends(ranges),
    }
    try:
        tx.refuse_large(values)
    except MessageTooLargeError:
        return None
    # Names are bytes there.
    given = {key: it.encode() if isinstance(it, str) else it for key, it in values.items()}
    tx.direct(_write, len(ranges)).run(tx.conn, given)
    if profile.tags:
        put_tags(tx, source.owner, tx.value(_NUMBER, key=values["new_key"]), profile.tags)
    figures = (new.id, at.pos, _name(at.id), at.pos, context, 0, version, now, now)
    rest = (0, 0, kind, values["written_at"])
    return SqlSessionStatements(tx).record_of((*figures, *profile, *rest), context)


def _find(
    tx: Tx, owner: str, id: str, parent: str, point: ForkPoint
) -> tuple[SessionRow, _Point] | None:
    """Lock a source, and find out where its fork is to stand; None when that is odd."""
    by_id = isinstance(point.message, str)
    asked = {
        "owner_name": owner.encode(),
        "source": key_of(owner, point.session),
        "taken": key_of(owner, id),
        "parent": key_of(owner, parent),
        "message": point.message.encode() if isinstance(point.message, str) else None,
    }
    size = len(_Point._fields)
    seen: list[tuple[SessionRow, _Point]] = []
    for row in tx.direct(_lock, by_id).run(tx.conn, asked).all():
        at, source = _Point._make(row[:size]), SessionRow._make(row[size:])
        if point.message is ROOT or not (by_id or source.tip):
            at = at._replace(pos=0, home=0, id=None, running=0, writer=0)
        elif at.pos is None or at.lineage is None:
            continue
        else:
            tx.know_lineage(at.pos >> DEPTH_BITS, at.lineage)
        if not by_id or is_seen(tx, source, at.pos, at.home):
            seen.append((source._replace(id=point.session, kind=_name(source.kind)), at))
    return seen[0] if len(seen) == 1 else None


def _profile(owner: int, new: NewSession, parent: str, at: _Point) -> Profile:
    attributes = at.attributes
    system, system_key = packed_system(owner, new.system)
    if new.attributes is not UNSET:
        attributes = encode_json(new.attributes, "attributes")
    return Profile(
        title=None if new.title is None else new.title.encode(),
        state=new.state,
        tags=at.tags if new.tags is UNSET else pack_tags(new.tags),
        budget=at.budget if new.budget is UNSET else new.budget,
        parent_kind=(EdgeKind.BRANCH if new.parent is None else new.parent.kind).value,
        parent=parent,
        attributes=attributes,
        model=_name(at.model) if new.model is UNSET else new.model,
        source=_name(at.origin) if new.source is UNSET else new.source,
        end_reason=new.end_reason,
        system=system,
        system_key=system_key,
        title_key=title_key(owner, new.title),
    )


def _name(found: Any) -> Any:
    """Return a name as text, which the driver may give as bytes; or None."""
    return found.decode() if isinstance(found, bytes) else found


def _context(
    tx: Tx, source: SessionRow, at: _Point, ranges: Sequence[tuple[int, int]]
) -> int | None:
    """Sum the tokens shown at a fork's point, as `sums.sum_of` does; None when some are missing."""
    ids: list[str] = []
    # Reading says what is wrong with pins; a sum must not stop a write.
    with suppress(StoreCorruptError):
        ids = [] if at.pins is None else pinned_ids(at.pins, source.id)
    asked = {"tree": source.tree, "source": source.number, "ids": ids}
    rows = tx.conn.execute(tx.made(_look, len(ranges)), asked | _ends(ranges)).all()
    edits = [(pos, delta) for kind, pos, delta, *_ in rows if kind == _EDIT]
    pins = {pos: tokens for kind, pos, tokens, *_ in rows if kind == _PIN}
    covers = sorted(
        (last, -(first & MAX_DEPTH), overlay, first, sums)
        for overlay, first, last, *sums in rows
        if overlay > 0
    )

    def deepest(span: Span) -> Cover | None:
        first, last = bounds(span)
        nth = bisect_left(covers, (last + 1,)) - 1
        if nth < 0 or covers[nth][0] < first:
            return None
        end, _, overlay, begin, sums = covers[nth]
        return Cover(overlay, place_of(begin), place_of(end), sums)

    total = at.running
    for item in resolve_up(unpack_place(at.pos), tx.lineage, deepest):
        if isinstance(item, Span):
            first, last = bounds(item)
            total += sum(delta for pos, delta in edits if first <= pos <= last)
        elif None in item.row:
            return None
        else:
            tokens, at_last, above = item.row
            total += tokens - at_last + above
            total += sum(pins[pos] for pos in pins_under(pins, item, tx.lineage))
    return total


def _ends(ranges: Sequence[tuple[int, int]]) -> dict[str, int]:
    return {
        f"{name}_{n}": end
        for n, ends in enumerate(ranges)
        for name, end in zip(("low", "high"), ends, strict=True)
    }


def _is_within(column: Any, count: int) -> Any:
    """Whether a column lies in one of so many ranges."""
    between = [column.between(bindparam(f"low_{n}"), bindparam(f"high_{n}")) for n in range(count)]
    return or_(literal_column("FALSE"), *between)


def _lock(t: Tables, by_id: bool) -> Compound:
    """Lock owner, tree and source, in this order, then read what is there."""
    s, h = t.session.c, t.home.c
    wanted = s.key == bindparam("source")
    return Compound(
        _LOCK,
        [
            lock_owner(t, shared=True),
            select(s.tree).where(wanted),
            select(h.number).where(h.number == _TREE).with_for_update(),
            select(s.number).where(wanted).with_for_update(),
            _point(t, by_id),
        ],
    )


def _point(t: Tables, by_id: bool) -> Any:
    s, p, d = t.session.c, t.profile.c, t.document.c
    other, writer = t.session.alias("other"), t.session.alias("writer")
    at = _at(t, by_id).subquery("at_point")
    pins = select(d.value).where(
        d.owner == s.owner,
        d.session == s.number,
        d.key == literal_column(f"'{PINS_KEY}'"),
        d.expires_at.is_(None),
    )
    floor = select(t.counter.c.value).where(t.counter.c.name == literal_column(f"'{FLOOR}'"))
    joined = (
        t.session.join(t.profile, p.session == s.number)
        .outerjoin(at, true())
        .outerjoin(t.segment, t.segment.c.number == at.c.pos.bitwise_rshift(number(DEPTH_BITS)))
        .outerjoin(writer, writer.c.home == at.c.home)
    )
    return (
        select(
            floor.scalar_subquery(),
            *p["tags", "budget", "attributes", "model", "source"],
            pins.scalar_subquery(),
            *at.c["pos", "home", "id", "path_tokens"],
            # Where the session that wrote the fork point is gone, the source's homes are taken.
            func.coalesce(writer.c.number, s.number),
            t.segment.c.lineage,
            *session_columns(t),
        )
        .select_from(joined)
        .where(
            s.number == _SOURCE,
            # A clear may have moved it to another tree before the lock was had.
            s.tree == _TREE,
            ~exists().where(other.c.key == bindparam("taken")),
            exists().where(other.c.key == bindparam("parent")),
        )
    )


def _at(t: Tables, by_id: bool) -> Any:
    """Return the message that a fork stands on: of an id there may be several, not all seen."""
    s, m = t.session.c, t.message.c
    at_tip = t.session.join(t.message, and_(m.tree == s.tree, m.pos == s.tip))
    found = select(*m["pos", "home", "id", "path_tokens"])
    if by_id:
        return found.select_from(_in_homes(t, _SOURCE)).where(m.id == bindparam("message"))
    return found.select_from(at_tip).where(s.number == _SOURCE)


def _in_homes(t: Tables, source: Any) -> Any:
    """Join the messages that a session may see: those of its own home and of inherited ones."""
    s, i = t.session.c, t.inherited.c
    own = select(s.home).where(s.number == source)
    homes = union(own, select(i.home).where(i.session == source)).subquery("homes")
    return homes.join(t.message, t.message.c.home == homes.c.home)


def _look(t: Tables, count: int) -> Any:
    """Return what a context is the sum of: overlays, edits on a path of so many ranges, and pins.

    An overlay comes with the running sums at its last message and above its first one.
    """
    f, o, e, m = t.in_force.c, t.overlay.c, t.edit.c, t.message.c
    source: Any = bindparam("source")
    last, above, depth = t.message.alias("at_last"), t.message.alias("above"), number(MAX_DEPTH)
    begins = o.first.bitwise_and(depth) == t.segment.c.parent.bitwise_and(depth) + number(1)
    up = case((begins, t.segment.c.parent), else_=o.first - number(1))
    joined = (
        t.in_force.join(t.overlay, o.number == f.overlay)
        .outerjoin(t.segment, t.segment.c.number == o.first.bitwise_rshift(number(DEPTH_BITS)))
        .outerjoin(last, and_(last.c.tree == o.tree, last.c.pos == o.last))
        .outerjoin(above, and_(above.c.tree == o.tree, above.c.pos == up))
    )
    above_it = case((up == number(0), number(0)), else_=above.c.path_tokens)
    overlays = select(o.number, o.first, o.last, o.tokens, last.c.path_tokens, above_it)
    rest = [null(), null(), null()]
    edits = select(number(_EDIT), e.pos, e.delta, *rest)
    pins = select(number(_PIN), m.pos, m.tokens, *rest).select_from(_in_homes(t, source))
    return union_all(
        overlays.select_from(joined).where(f.session == source, _is_within(f.last, count)),
        edits.where(e.tree == bindparam("tree"), _is_within(e.pos, count)),
        pins.where(m.id.in_(bindparam("ids", expanding=True)), m.body.is_not(None)),
    )


def _write(t: Tables, count: int) -> Compound:
    """Write a fork that stands on a path of so many ranges."""
    i, d, f = t.inherited.c, t.document.c, t.in_force.c
    source: Any = bindparam("source")
    given = ("owner", "id", "key", "tree", "tip", "context", "version", "kind", "state")
    session: dict[str, Any] = {key: bindparam(f"new_{key}") for key in given}
    session |= {"fork": session["tip"], "home": _HOME}
    session |= dict.fromkeys(("ends", "running", "messages", "overlays", "closed"), number(0))
    session |= dict.fromkeys(("created_at", "active_at"), bindparam("now"))
    session |= {"updated_at": bindparam("written_at"), "updated_s": bindparam("written_s")}
    profile: dict[str, Any] = {key: bindparam(f"new_{key}") for key in Profile._fields}
    copied = (d.key, d.updated_at, d.value, d.inherit, d.created_at)
    documents = select(d.owner, _FORK, *copied).where(
        d.owner == bindparam("new_owner"),
        d.session == source,
        d.expires_at.is_(None),
        d.inherit == number(1),
    )
    # At the root there is no home, and no range.
    inherited = select(i.home).where(i.session == bindparam("writer"))
    homes = union(inherited, select(bindparam("at_home").label("home"))).subquery("homes")
    overlays = select(_FORK, f.last, f.width, f.overlay).where(
        f.session == source, _is_within(f.last, count)
    )
    kept = ["owner", "session", *(it.key for it in copied)]
    return Compound(
        _WRITE,
        [
            insert(t.home).values(number=null()).inline(),
            # Its number is taken; there is no tree of that name for anybody to lock.
            delete(t.home).where(t.home.c.number == _HOME),
            insert(t.session).values(session | {"active_s": bindparam("now_s")}).inline(),
            insert(t.profile).values({"session": _FORK, **profile}).inline(),
            insert(t.document).from_select(kept, documents.order_by(d.version)),
            insert(t.inherited).from_select(
                ["session", "home"], select(_FORK, homes.c.home).where(homes.c.home > number(0))
            ),
            insert(t.in_force).from_select(["session", "last", "width", "overlay"], overlays),
            update(t.session)
            .where(t.session.c.number == _FORK)
            .values(overlays=literal_column("ROW_COUNT()")),
            _tell(t),
        ],
    )


def _tell(t: Tables) -> Any:
    """Tell the change feed of the new record, after all that it has."""
    o, zero = t.owner.c, number(0)
    newest = func.greatest(
        o.trimmed,
        func.coalesce(newest_message(t).scalar_subquery(), zero),
        func.coalesce(newest_after(t).scalar_subquery(), zero),
    )
    figures: list[Any] = [bindparam("new_tree"), number(KIND_RECORD), bindparam("new_version")]
    row = select(o.number, newest, _FORK, *figures, bindparam("written_at"), bindparam("new_id"))
    columns = ["owner", "after", "session", "tree", "kind", "pos", "at", "name"]
    return insert(t.change).from_select(columns, row.where(o.number == bindparam("owner")))
