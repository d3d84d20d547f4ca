"""What a session shows at a leaf, and how full the context is, without reading the history.

The tokens on a path are the `path_tokens` of its end plus the edits on it. What a session shows
is that, less what lies under overlays, plus the summaries and the pins shown with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, cast, func, select, update
from sqlalchemy.types import BigInteger

from ...errors import StoreCorruptError
from ...rules.tree import Cover, Span, resolve_up, spans_up
from ..relational._sync.documents import find_pins
from ..relational._sync.sums import SumStatements
from ..relational.position import bounds, pack_place, place_of, unpack_place
from ..relational.rows import OVERLAY_TOKENS, TOKENS, SessionRow
from ..relational.walk import pins_under
from .documents import SqlDocumentStatements
from .lookup import SqlLookupStatements, in_parts, lock_row, lock_tree, overlay_columns, rows_at
from .tables import Tables
from .tx import Tx, select_by, update_by

_PATH_TOKENS = select_by("message", "tree", "pos", of=["path_tokens"])
_PUT_CONTEXT = update_by("session", "number")


class SqlView:
    """A session's way of seeing its tree; whatever it looks up, it looks up once."""

    def __init__(self, tx: Tx, session: SessionRow) -> None:
        self.tx = tx
        self.session = session

    def visible(self, leaf: int) -> Iterator[Span | Cover]:
        """Iterate over what is shown at a leaf, from the leaf upwards."""
        place = unpack_place(leaf)
        if not self.session.overlays:
            return spans_up(place, self.tx.lineage)
        return resolve_up(place, self.tx.lineage, self._deepest)

    def _deepest(self, span: Span) -> Cover | None:
        first, last = bounds(span)
        row = self.tx.row(_deepest, session=self.session.number, low=first, high=last)
        if row is None:
            return None
        number, _, begin, end = row[:4]
        return Cover(number, place_of(begin), place_of(end), row)

    def pinned_tokens(self, cover: Cover) -> int:
        """Sum the tokens of the live pinned messages that an overlay covers."""
        try:
            pinned = pins_under(self._pins, cover, self.tx.lineage)
        except StoreCorruptError:
            # Reading says what is wrong; a sum must not stop a write.
            return 0
        rows = rows_at(self.tx, self.session.tree, pinned)
        return sum(rows[pos][TOKENS] for pos in pinned)

    @cached_property
    def _pins(self) -> list[int]:
        documents, lookup = SqlDocumentStatements(self.tx), SqlLookupStatements(self.tx)
        return find_pins(documents, lookup, self.tx.now, self.session)


def context_at(tx: Tx, session: SessionRow, leaf: int, most_steps: int | None = None) -> int | None:
    """Sum the tokens shown at a leaf; None when that takes more than `most_steps`."""
    view = SqlView(tx, session)
    items = view.visible(leaf)
    if most_steps is None:
        return sum_of(view, items)
    few = list(islice(items, most_steps + 1))
    return None if len(few) > most_steps else sum_of(view, few)


def sum_of(view: SqlView, items: Iterable[Span | Cover]) -> int:
    """Sum the tokens of visible items, given from the leaf upwards to the root."""
    tx, tree, total, open_end = view.tx, view.session.tree, 0, 0
    edited = is_edited(tx, tree)
    for item in items:
        if isinstance(item, Cover):
            if open_end:
                total += path_tokens(tx, tree, open_end)
                total -= path_tokens(tx, tree, pack_place(item.last))
            open_end = 0
            total += item.row[OVERLAY_TOKENS] + view.pinned_tokens(item)
            continue
        first, last = bounds(item)
        open_end = open_end or last
        if edited:
            total += deltas_between(tx, tree, first, last)
    return total + path_tokens(tx, tree, open_end)


def is_edited(tx: Tx, tree: int) -> bool:
    """Whether any message of a tree was changed after it was appended."""
    return tx.row(_any_edit, tree=tree) is not None


def path_tokens(tx: Tx, tree: int, pos: int) -> int:
    """Return a message's running sum; 0 at the root."""
    if not pos:
        return 0
    found: int | None = tx.value(_PATH_TOKENS, tree=tree, pos=pos)
    if found is None:
        raise StoreCorruptError(f"the message at position {pos} is missing")
    return found


def deltas_between(tx: Tx, tree: int, first: int, last: int) -> int:
    """Sum the edits between two positions of a segment."""
    return int(tx.value(_deltas, tree=tree, low=first, high=last) or 0)


def leave_to_sum(tx: Tx, session: SessionRow, pos: int, is_followed: bool) -> None:
    """Let others that may show a changed message work out their sums: when asked, or appended to.

    None of them `ends` a segment then, so that the next append looks. What nothing follows is only
    seen by forks that begin there.
    """
    statement = _others if is_followed else _begun_at
    found = tx.rows(statement, tree=session.tree, number=session.number, pos=pos)
    for some in in_parts([number for (number,) in found]):
        tx.run(_forget_context, numbers=some)


def renew_context(tx: Tx, session: SessionRow) -> None:
    """Work out a session's context at its tip; keep it, and how many overlays its row has."""
    context = context_at(tx, session, session.tip)
    tx.run(_PUT_CONTEXT, of_number=session.number, context=context, overlays=session.overlays)


def renew_one(tx: Tx) -> bool:
    """Renew the sums of one tree that was left to be; return whether there was one."""
    tree = tx.value(_some_unknown)
    if tree is None:
        return False
    lock_tree(tx, tree)
    for (number,) in tx.rows(_unknown_in, tree=tree):
        row = lock_row(tx, number)
        if row is not None and row.tree == tree:
            renew_context(tx, row)
    return True


def _deepest(t: Tables) -> Any:
    f, o = t.in_force.c, t.overlay.c
    return (
        select(*overlay_columns(t))
        .select_from(t.in_force.join(t.overlay, o.number == f.overlay))
        .where(
            f.session == bindparam("session"), f.last.between(bindparam("low"), bindparam("high"))
        )
        .order_by(f.last.desc(), f.width.desc(), f.overlay.desc())
        .limit(1)
    )


def _any_edit(t: Tables) -> Any:
    return select(t.edit.c.seq).where(t.edit.c.tree == bindparam("tree")).limit(1)


def _deltas(t: Tables) -> Any:
    e = t.edit.c
    return select(cast(func.coalesce(func.sum(e.delta), 0), BigInteger)).where(
        e.tree == bindparam("tree"), e.pos.between(bindparam("low"), bindparam("high"))
    )


def _others(t: Tables) -> Any:
    s = t.session.c
    return (
        select(s.number)
        .where(s.tree == bindparam("tree"), s.number != bindparam("number"))
        .where(s.context.is_not(None))
        .order_by(s.number)
    )


def _begun_at(t: Tables) -> Any:
    return _others(t).where(t.session.c.fork == bindparam("pos"))


def _forget_context(t: Tables) -> Any:
    wanted = t.session.c.number.in_(bindparam("numbers", expanding=True))
    return update(t.session).where(wanted).values(context=None, ends=0)


def _some_unknown(t: Tables) -> Any:
    return select(t.session.c.tree).where(t.session.c.context.is_(None)).limit(1)


def _unknown_in(t: Tables) -> Any:
    s = t.session.c
    wanted = s.tree == bindparam("tree"), s.context.is_(None)
    return select(s.number).where(*wanted).order_by(s.number)


class SqlSumStatements(SumStatements[Tx]):
    """Statements about what a session shows."""

    def visible(self, session: SessionRow, leaf: int) -> Iterator[Span | Cover]:
        return SqlView(self._tx, session).visible(leaf)

    def pins_under(self, session: SessionRow, pins: list[int], cover: Cover) -> list[int]:
        return pins_under(pins, cover, self._tx.lineage)

    def context_at(self, session: SessionRow, leaf: int) -> int:
        found = context_at(self._tx, session, leaf)
        assert found is not None
        return found

    def renew_context(self, session: SessionRow) -> None:
        renew_context(self._tx, session)
