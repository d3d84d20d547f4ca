"""The statement that finds the ends of sessions' paths: from each tip upwards, place by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, bindparam, case, func, literal, null, select

from ...rules.recent import RECENT_MESSAGES, RECENT_PLACES, TOOL
from ..relational._sync.recent import RecentStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from ..relational.rows import Row
from .direct import number
from .lookup import in_parts, key_of
from .tables import Tables
from .tx import Tx

_MESSAGE = ("pos", "home", "id", "role", "tokens", "version", "created_at")
_DOCUMENT = ("version", "key", "updated_at", "expires_at", "value", "inherit", "created_at")


class SqlRecentStatements(RecentStatements[Tx]):
    """Statements about the ends of paths."""

    def rows(self, owner: str, sessions: Sequence[str], key: str | None) -> Sequence[Row]:
        return [
            tuple(row)
            for some in in_parts(sessions)
            for row in self._tx.rows(_recent, keys=[key_of(owner, it) for it in some], key=key)
        ]


def _places(t: Tables) -> Any:
    """Return the last places of the paths to sessions' tips, numbered from the tip up."""
    s, g = t.session.c, t.segment.c
    tips = select(s.number, s.tree, number(1).label("step"), s.tip.label("pos"))
    up = tips.where(s.key.in_(bindparam("keys", expanding=True))).cte("up", recursive=True)
    depth = up.c.pos.bitwise_and(number(MAX_DEPTH))
    above = case(
        (depth - number(1) > g.parent.bitwise_and(number(MAX_DEPTH)), up.c.pos - number(1)),
        else_=g.parent,
    )
    joined = up.join(t.segment, g.number == up.c.pos.bitwise_rshift(number(DEPTH_BITS)))
    return up.union_all(
        select(up.c.number, up.c.tree, (up.c.step + number(1)).label("step"), above.label("pos"))
        .select_from(joined)
        .where(up.c.step < number(RECENT_PLACES), depth > number(1))
    )


def _recent(t: Tables) -> Any:
    m, up = t.message.c, _places(t)
    is_live = m.body.is_not(None)
    is_said = and_(is_live, m.role != literal(TOOL, m.role.type))
    said = case((is_said, number(1)), else_=number(0))
    before = func.sum(said).over(partition_by=up.c.number, order_by=up.c.step)
    shown = (
        select(
            *up.c,
            case((m.pos.is_not(None), case((is_live, number(1)), else_=number(0)))).label("live"),
            case((before <= number(RECENT_MESSAGES), said), else_=number(0)).label("shown"),
        )
        .select_from(up.outerjoin(t.message, and_(m.tree == up.c.tree, m.pos == up.c.pos)))
        .cte("shown")
    )
    return _whole(t, shown)


def _whole(t: Tables, shown: Any) -> Any:
    """Return the rows of places, with their messages, and with what comes along at the tip."""
    s, m, g, d, of = t.session.c, t.message.c, t.segment.c, t.document.c, shown.c
    home = t.session.alias("home")
    is_tip, is_shown = of.step == number(1), of.shown == number(1)
    segment = and_(is_tip, g.number == of.pos.bitwise_rshift(number(DEPTH_BITS)))
    kept = and_(is_tip, d.owner == s.owner, d.session == s.number, d.key == bindparam("key"))
    joined = (
        shown.join(t.session, s.number == of.number)
        .outerjoin(t.segment, segment)
        .outerjoin(t.message, and_(m.tree == of.tree, m.pos == of.pos))
        .outerjoin(home, and_(is_shown, home.c.home == m.home))
        .outerjoin(t.document, kept)
    )
    body = case((is_shown, m.body), else_=null())
    message, document = [m[key] for key in _MESSAGE], [d[key] for key in _DOCUMENT]
    columns = [s.id, of.step, of.pos, g.lineage, of.live, of.shown, home.c.id, *message, body]
    columns = [column.label(f"c{at}") for at, column in enumerate([*columns, *document])]
    return select(*columns).select_from(joined).order_by(of.number, of.step)
