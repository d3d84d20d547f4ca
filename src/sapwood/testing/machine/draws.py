"""What the machine draws: names that collide, batches that repeat, ranges that cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from ...model import ROOT, EntryRef, NewMessage, NewOverlay, Root
from ..makers import say
from ..oracle import FOUND_BY, VOCABULARY, Node, Oracle, Session, Shown

NAMES = [f"s{n}" for n in range(6)]
"""All the sessions that there may be."""
KINDS = ("chat", "memory")
"""All the kinds that a session may be of."""
_KIND: st.SearchStrategy[str | UnsetType] = st.sampled_from([UNSET, UNSET, UNSET, *KINDS])
_EXTRA: st.SearchStrategy[dict[str, Any] | UnsetType] = st.sampled_from(
    [UNSET, UNSET, UNSET, {}, {"n": 1}, {"deep": {"m": "é"}}]
)


class Draws:
    """Draws from what is there, and now and then from what is not."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._count = 0
        self.ids: list[str] = []

    def fresh(self, kind: str = "m") -> str:
        """Return an id that was never used."""
        self._count += 1
        id = f"{kind}{self._count}"
        if kind == "m":
            self.ids.append(id)
        return id

    def rarely(self, data: st.DataObject, label: str) -> bool:
        """Draw whether to do what is mostly wrong."""
        return data.draw(st.sampled_from([False] * 14 + [True]), label=label)

    def name(self, data: st.DataObject) -> str:
        """Draw a name for a new session, which nearly always is free."""
        free = [name for name in NAMES if name not in self._oracle.sessions]
        taken = not free or self.rarely(data, "a taken name")
        return data.draw(st.sampled_from(NAMES if taken else free), label="name")

    def new_kind(self, data: st.DataObject) -> str | UnsetType:
        """Draw the kind of a new session, which for most is not given."""
        return data.draw(_KIND, label="kind")

    def session(self, data: st.DataObject) -> str:
        """Draw a session, which nearly always exists; a closed one rather than another."""
        there = sorted(self._oracle.sessions)
        there += [id for id in there if self._oracle.sessions[id].closed] * 2
        if not there or self.rarely(data, "any session"):
            there = NAMES
        return data.draw(st.sampled_from(there), label="session")

    def place(self, data: st.DataObject, session: str, *, live: bool = False) -> str | Root:
        """Draw a place that the session nearly always sees, for some uses nearly always a live one.

        The last ones are as likely as all others together.
        """
        found = self._oracle.sessions.get(session)
        nodes = [node for node in found.seen() if not (live and node.deleted)] if found else []
        ids = [node.id for node in nodes]
        choices: list[str | Root] = [*ids, *ids[-4:] * (1 + len(ids) // 4)]
        if not choices or self.rarely(data, "any place"):
            choices = [ROOT, *self.ids[-6:], "nothing"]
        return data.draw(st.sampled_from(choices), label="place")

    def message(self, data: st.DataObject, id: str) -> NewMessage:
        """Draw a message: what it says depends on its id, and now and then is something else."""
        variant, tokens = data.draw(
            st.tuples(st.sampled_from([0, 0, 0, 0, 0, 1]), st.integers(0, 9)), label="content"
        )
        role = ("user", "assistant", "tool")[len(id) % 3]
        metadata = {"n": variant} if variant else {}
        said = data.draw(st.integers(0, 10**16), label="time") if variant else None
        extra = data.draw(_EXTRA, label="extra")
        words = _words(id, variant)
        n = sum(map(ord, id))
        return say(
            id,
            f"{id} says {variant} {words}",
            role=role,
            tokens=tokens,
            metadata=metadata,
            created_us=said,
            extra=extra,
            name=f"{NAMES[n % 4]}{variant}" if n % 3 else None,
            # The same whatever it says.
            digest=id.encode()[-32:] if n % 5 == 0 else None,
        )

    def batch(self, data: st.DataObject, session: str) -> list[NewMessage]:
        """Draw a batch: new ids, known ones, or known ones and then new ones."""
        found = self._oracle.sessions.get(session)
        kind = data.draw(st.sampled_from(["new", "new", "chain", "chain", "mix"]), label="kind")
        ids: list[str] = []
        if kind == "chain" and found and found.seen():
            ids += self._chain(data, found)
        if kind == "mix" and self.ids:
            ids += data.draw(st.lists(st.sampled_from(self.ids), min_size=1, max_size=3))
        least = 0 if ids else 1
        count = data.draw(st.integers(least, 3), label="new ones")
        return [self.message(data, id) for id in [*ids, *(self.fresh() for _ in range(count))]]

    def _chain(self, data: st.DataObject, session: Session) -> list[str]:
        node: Node | None = data.draw(
            st.sampled_from(session.seen()[::-1]).map(_Quiet), label="chain from"
        ).node
        ids: list[str] = []
        for _ in range(data.draw(st.integers(1, 3), label="known ones")):
            if node is None:
                break
            ids.append(node.id)
            node = next(iter(session.children(node)), None)
        return ids

    def overlay(self, data: st.DataObject, session: str) -> NewOverlay:
        """Draw an overlay, over entries that nearly always are visible and in order."""
        found = self._oracle.sessions.get(session)
        leaf = None
        if data.draw(st.integers(0, 3), label="at another leaf") == 0:
            place = self.place(data, session)
            leaf = None if isinstance(place, Root) else place
        node = found and (found.find(leaf) if leaf else found.tip)
        entries = found.shown(node or None) if found else []
        first, last = self._ends(data, entries)
        return NewOverlay(
            first=first,
            last=last,
            summary=f"summary of {data.draw(st.sampled_from(VOCABULARY), label='said')}",
            tokens=data.draw(st.integers(0, 9), label="tokens"),
            leaf=leaf,
            id=self._overlay_id(data, found),
        )

    def _ends(self, data: st.DataObject, entries: Sequence[Shown]) -> tuple[EntryRef, EntryRef]:
        names = [entry.name for entry in entries] or [("message", "nothing")]
        places = data.draw(
            st.tuples(st.integers(0, len(names) - 1), st.integers(0, len(names) - 1)), label="ends"
        )
        if not self.rarely(data, "any order"):
            places = (min(places), max(places))
        refs = [EntryRef(kind=_kind(names[n]), id=names[n][1]) for n in places]
        if self.ids and self.rarely(data, "any end"):
            refs[1] = EntryRef(kind="message", id=data.draw(st.sampled_from(self.ids)))
        return refs[0], refs[1]

    def _overlay_id(self, data: st.DataObject, session: Session | None) -> str:
        taken = sorted(self._oracle.overlay_ids(session)) if session else []
        if taken and self.rarely(data, "a taken id"):
            return data.draw(st.sampled_from(taken))
        return self.fresh("o")

    def query(self, data: st.DataObject) -> str:
        """Draw a word to search for: nearly always one that is said somewhere."""
        said = [*FOUND_BY, "says", "summary", *self.ids[-12:], "nothing"]
        return data.draw(st.sampled_from(said), label="query")


def _words(id: str, variant: int) -> str:
    """Return two words that depend on the id, so that a repeated append says the same."""
    n = sum(map(ord, id))
    count = len(VOCABULARY)
    return f"{VOCABULARY[n % count]} {VOCABULARY[(n // 3 + 2 * variant) % count]}"


class _Quiet:
    """Holds a node, and prints no more than its id."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __repr__(self) -> str:
        return self.node.id


def _kind(name: tuple[str, str]) -> Any:
    return name[0]
