"""What the oracle stands on: its sessions, and the errors that it expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...errors import NotFoundError, SapwoodError
from ...model import ROOT, Root
from .node import Node
from .session import Session

Wrong = Sequence[type[SapwoodError]]


class Refused(Exception):  # noqa: N818 - it is what is expected, and no error
    """The oracle expects an error: any of these kinds, where several things are wrong at once."""

    def __init__(self, *kinds: type[SapwoodError]) -> None:
        super().__init__(", ".join(kind.__name__ for kind in kinds))
        self.kinds = kinds


def refuse(wrong: Wrong) -> None:
    """Expect an error when something is wrong."""
    if wrong:
        raise Refused(*wrong)


@contextmanager
def beside(wrong: Wrong) -> Iterator[None]:
    """Expect any of these errors, too, where another one is expected inside."""
    try:
        yield
    except Refused as refused:
        raise Refused(*refused.kinds, *wrong) from None


def name_of(node: Node | None) -> str | Root:
    """Return a node's id, or the root."""
    return ROOT if node is None else node.id


class OracleBase:
    """One owner's sessions, and what is found in them."""

    def __init__(self, clock: Callable[[], int] = lambda: 0) -> None:
        self.clock = clock
        self.sessions: dict[str, Session] = {}
        self.versions: dict[tuple[str, str], list[int]] = {}
        self.reached: dict[str, int] = {}
        self.changes = 0
        self._covers = 0

    def get(self, session: str) -> Session:
        """Return a session, or expect that it is not found."""
        if session not in self.sessions:
            raise Refused(NotFoundError)
        return self.sessions[session]

    def place(self, session: Session, id: str | Root) -> Node | None:
        """Return a place that a session sees, or expect that it is not found."""
        if isinstance(id, Root):
            return None
        node = session.find(id)
        if node is None:
            raise Refused(NotFoundError)
        return node

    def written(self, session: Session) -> Session:
        """Note when a session was written to; return it."""
        session.updated_us = self.clock()
        return session

    def begin(self, session: Session, version: int) -> None:
        """Take the version of a new session from the store: none of its name was as high."""
        assert version > self.reached.get(session.id, 0), f"{session.id} begins at {version} again"
        session.version = version

    def learn(self, session: Session, key: str, version: int) -> None:
        """Take a document's version from the store: one that was put has a higher one than ever."""
        kept = session.documents[key]
        if kept.version is None:
            had = self.versions.setdefault((session.id, key), [0])
            assert version > had[-1], f"{key} of {session.id} had version {had[-1]}"
            had.append(version)
            kept.version = version
        assert version == kept.version

    def _next_cover(self) -> int:
        self._covers += 1
        return self._covers
