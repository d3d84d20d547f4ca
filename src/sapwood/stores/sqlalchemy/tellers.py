"""Through which session what was found is told: looked up for many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, select

from ...rules.tree import is_on_path
from ..relational.position import DEPTH_BITS, place_of, unpack_place
from .lookup import in_parts
from .tables import Tables
from .tx import Row, Tx


class Tellers:
    """Sessions by what they wrote or stand on; each row has number, id, fork, title and tags."""

    def __init__(self, tx: Tx, owner: int) -> None:
        self._tx = tx
        self._owner = owner
        self._by_home: dict[int, Row] = {}
        self._heirs: dict[int, list[Row]] = {}

    def learn(self, homes: Iterable[int]) -> None:
        """Look up who wrote what has these homes, or inherited it if they are gone."""
        new = sorted(set(homes) - self._by_home.keys() - self._heirs.keys())
        for some in in_parts(new):
            for home, *teller in self._tx.rows(_by_homes, homes=some):
                self._by_home[home] = teller
        self._learn_heirs([home for home in new if home not in self._by_home])

    def _learn_heirs(self, homes: Sequence[int]) -> None:
        self._heirs |= {home: [] for home in homes}
        for some in in_parts(homes):
            for home, *heir in self._tx.rows(_heirs, homes=some):
                self._heirs[home].append(heir)
        forks = {heir[2] >> DEPTH_BITS for home in homes for heir in self._heirs[home]}
        self._tx.learn_lineages(sorted(forks))

    def of(self, pos: int, home: int) -> Row:
        """Give the session that wrote a message; if it is gone, the oldest that stands on it."""
        if home in self._by_home:
            return self._by_home[home]
        for heir in self._heirs[home]:
            if is_on_path(place_of(pos), unpack_place(heir[2]), self._tx.lineage):
                return heir
        return None

    def of_overlays(self, overlays: Sequence[int]) -> dict[int, list[Row]]:
        """Give the sessions that have each of some overlays in force, the oldest first."""
        found: dict[int, list[Row]] = defaultdict(list)
        for some in in_parts(overlays):
            for overlay, *teller in self._tx.rows(_in_force, overlays=some, owner=self._owner):
                found[overlay].append(teller)
        return found


def _tellers(t: Tables, of: Any) -> Any:
    s, p = t.session.c, t.profile.c
    return (
        select(of, s.number, s.id, s.fork, p.title, p.tags)
        .select_from(t.session.join(t.profile, p.session == s.number))
        .order_by(s.number)
    )


def _by_homes(t: Tables) -> Any:
    s = t.session.c
    return _tellers(t, s.home).where(s.home.in_(bindparam("homes", expanding=True)))


def _heirs(t: Tables) -> Any:
    s, i = t.session.c, t.inherited.c
    standing = and_(i.session == s.number, i.home.in_(bindparam("homes", expanding=True)))
    return _tellers(t, i.home).join(t.inherited, standing)


def _in_force(t: Tables) -> Any:
    s, f = t.session.c, t.in_force.c
    having = and_(f.session == s.number, f.overlay.in_(bindparam("overlays", expanding=True)))
    return _tellers(t, f.overlay).join(t.in_force, having).where(s.owner == bindparam("owner"))
