"""The search for sessions that listings do not find by what their records say, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import and_, func, select

from ...model import Problem
from ...rules.system import NOTHING
from ..relational.listed import FoundBy, ListedRow, stray_tag
from .listing import put_tags
from .lookup import pack_tags, unpack_tags
from .messages import put_session
from .tables import Tables
from .tx import Tx, delete_by, select_by, update_by

_TAGS = select_by("tag", "owner", "session", of=["tag"])
_PUT_KEYS = update_by("profile", "session")
_DELETE_TAGS = delete_by("tag", "owner", "session")


def listing_problems(tx: Tx) -> Iterator[Problem]:
    """Look for sessions that are not found by what their records say, or by more than that."""
    for row in _listed(tx):
        yield from row.problems()
    for _, session in tx.rows(_of_nobody):
        yield stray_tag(str(session))
    for _, id, _ in _wrong_seconds(tx):
        what = "it is listed at another second than that of its last change"
        yield Problem(kind="session", where=id, what=what)


def rebuild_listing(tx: Tx) -> None:
    """Let each session be found by what its record says, and by nothing else."""
    for owner, session in tx.rows(_of_nobody):
        tx.run(_DELETE_TAGS, owner=owner, session=session)
    for row in _listed(tx):
        right = row.mended()
        if right is not None:
            _put_right(tx, row, right)
    for session, _, second in _wrong_seconds(tx):
        tx.run(put_session, of_number=session, updated_s=second)


def _listed(tx: Tx) -> Iterator[ListedRow]:
    for tree, session, owner, id, *columns, state, title, system, tags in tx.rows(_sessions):
        found = frozenset(tag for (tag,) in tx.rows(_TAGS, owner=owner, session=session))
        record = (state, title, system or NOTHING, unpack_tags(tags))
        yield ListedRow(tree, session, owner, id, FoundBy._make((*columns, found)), *record)


def _put_right(tx: Tx, row: ListedRow, right: FoundBy) -> None:
    tx.run(put_session, of_number=row.number, state=right.state)
    keys = {"title_key": right.title_key, "system_key": right.system_key}
    tx.run(_PUT_KEYS, of_session=row.number, **keys)
    tx.run(_DELETE_TAGS, owner=row.owner, session=row.number)
    put_tags(tx, row.owner, row.number, pack_tags(list(right.tags)))


def _wrong_seconds(tx: Tx) -> Iterator[tuple[int, str, int]]:
    """Yield sessions that are listed at a wrong second: number, id and the right one."""
    for session, id, written, second in tx.rows(_seconds):
        if written // 1_000_000 != second:
            yield session, id, written // 1_000_000


def _sessions(t: Tables) -> Any:
    s, p = t.session.c, t.profile.c
    kept = (s.state, p.title_key, p.system_key)
    joined = t.session.join(t.profile, p.session == s.number)
    asked = select(s.tree, s.number, s.owner, s.id, *kept, p.state, p.title, p.system, p.tags)
    return asked.select_from(joined).order_by(s.number)


def _of_nobody(t: Tables) -> Any:
    """Return the query of tags without a session: owner and number."""
    g, s = t.tag.c, t.session.c
    joined = t.tag.outerjoin(t.session, and_(s.number == g.session, s.owner == g.owner))
    return select(g.owner, g.session).select_from(joined).where(s.number.is_(None)).distinct()


def _seconds(t: Tables) -> Any:
    s = t.session.c
    written = func.coalesce(s.updated_at, s.active_at)
    return select(s.number, s.id, written, s.updated_s).order_by(s.number)
