"""Which messages cannot match, by their stored bytes: on the server, and here.

Both look at a body as it is stored, without reading it as JSON. Letters of ASCII are compared
without their case; a body with others is never left out by the server, since only our own rules say
what such letters fold to.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    LargeBinary,
    Text,
    and_,
    bindparam,
    cast,
    collate,
    func,
    literal_column,
    or_,
    select,
)

from ...rules.query import Query
from ...rules.text import fold
from .tables import Tables


class BodyFilter:
    """The words of a query, by which a body that cannot match is told."""

    def __init__(self, query: Query) -> None:
        self._sides = [
            [word for term in side.terms for word in term.words if _is_stored_as_is(word)]
            for side in query.branches
        ]
        self._quick = [[word.encode() for word in side] for side in self._sides]
        # The sides that can match a body in ASCII; nothing is left out if one has no words.
        ascii_sides = [side for side in self._sides if all(word.isascii() for word in side)]
        self._named = [
            {f"word_{n}_{at}": word for at, word in enumerate(side)}
            for n, side in enumerate(ascii_sides if all(self._sides) else [])
        ]

    def may_match(self, body: bytes) -> bool:
        """Whether any side of the query may be in a body."""
        low = body.lower()
        for side in self._quick:
            if all(word in low for word in side):
                return True
        if low.isascii():
            return False
        try:
            folded = fold(body.decode())
        except UnicodeDecodeError:
            return False
        return any(all(word in folded for word in side) for side in self._sides)

    def params(self) -> dict[str, Any]:
        """Return the words that the server looks for, by their names in `condition`."""
        return {name: word for side in self._named for name, word in side.items()}

    def condition(self, kind: str, body: Any) -> Any:
        """Return what the server can tell; None when every body may match."""
        if not all(self._sides):
            return None
        found = [and_(*(_contains(kind, body, name) for name in side)) for side in self._named]
        return or_(_has_other_letters(kind, body), *found)


def _is_stored_as_is(word: str) -> bool:
    """Whether a word of a text looks the same in JSON."""
    return word.isprintable() and not {*word} & {'"', "\\"}


def _contains(kind: str, body: Any, name: str) -> Any:
    """Return the condition that a body has a word in ASCII, in whatever case."""
    word = bindparam(name, type_=Text())
    if kind == "postgresql":
        low = func.lower(collate(func.encode(body, "escape"), "C"))
        return func.strpos(low, word) > 0
    if kind == "mysql":
        # To a character set in which every byte is a letter.
        latin1 = func.convert(body.op("USING")(literal_column("latin1")))
        return func.instr(func.lower(latin1), word) > 0
    return func.instr(func.lower(cast(body, Text)), word) > 0


def _has_other_letters(kind: str, body: Any) -> Any:
    """Return the condition that a body is not in ASCII; it may hold for one that is."""
    if kind == "postgresql":
        # The first byte of such a letter is shown as a backslash and three digits from 302 on.
        return func.strpos(func.encode(body, "escape"), "\\3") > 0
    if kind == "mysql":
        text = func.convert(body.op("USING")(literal_column("utf8mb4")))
        return func.char_length(text) != func.length(body)
    return func.length(cast(body, Text)) != func.length(cast(body, LargeBinary))


def keys_of(t: Tables, words: BodyFilter, *, of_session: bool) -> Any:
    """Return the query of where messages stand, and their size: an owner's, or those of homes."""
    m = t.message.c
    scope = m.owner == bindparam("owner")
    if of_session:
        # Without the owner: the index by time would lead through all that the owner has.
        at_home = m.home.in_(bindparam("homes", expanding=True))
        scope = and_(m.tree == bindparam("tree"), at_home)
    size = func.octet_length(m.body) if t.kind == "postgresql" else func.length(m.body)
    wanted = select(m.created_at, m.tree, m.pos, size).where(scope, m.body.is_not(None))
    condition = words.condition(t.kind, m.body)
    if condition is not None:
        wanted = wanted.where(condition)
    return older(wanted, m.created_at, m.tree, m.pos)


def older(columns: Any, time: Any, tree: Any, key: Any) -> Any:
    """Return the condition that begins after a place, the order, and the limit."""
    at, in_tree = bindparam("at", type_=time.type), bindparam("in_tree", type_=tree.type)
    rest = or_(tree < in_tree, and_(tree == in_tree, key < bindparam("place")))
    wanted = and_(time <= at, or_(time < at, rest))
    ordered = columns.where(wanted).order_by(time.desc(), tree.desc(), key.desc())
    return ordered.limit(bindparam("most"))
