"""Units of work on a tree: look, decide, and apply what was decided if nothing has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....errors import StoreUnavailableError
from ..keys import Keys
from ..rows import Row, name_of
from .link import Asked, AsyncLink, Command

MARKED_US = 60_000_000
"""For how long a mark says that a tree may be written to."""


MOST_REMEMBERED = 100_000


class MovedError(Exception):
    """Something has changed since it was looked at: the unit of work begins again.

    Those that write to the same place in one process then go one after the other.
    """

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self.where = where


class Marks(dict[str, str]):
    """Until when trees are marked as being written to, as far as this store marked them."""

    def __setitem__(self, tree: str, deadline: str) -> None:
        """Remember a mark; what is forgotten is marked again."""
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        super().__setitem__(tree, deadline)


class Placed(NamedTuple):
    """Where a message stands, and what is stored there."""

    segment: int
    depth: int
    above: int
    home: str
    session: str | None
    entry: bytes
    parent: str
    edit: bytes | None


class Look(NamedTuple):
    """A session as it was looked at, the state of its tree then, and where messages stand."""

    tree: str
    version: int
    appends: int
    segments: int
    homes: int
    is_edited: bool
    now: int
    row: Row
    sessions: Mapping[str, str]
    """All sessions of the tree by their homes, where these were asked for."""
    places: Sequence[Placed | None]


class State(NamedTuple):
    """The state of a tree, where nothing else was looked at."""

    tree: str
    version: int
    appends: int


def look_of(tree: str, session: str, answer: Sequence[Any]) -> Look:
    """Make a look of what the script says."""
    _, state, now, fields, names, places = answer
    return Look(
        tree=tree,
        version=int(state[0]),
        appends=int(state[1]),
        segments=int(state[2]),
        homes=int(state[3]),
        is_edited=state[4] is not None,
        now=int(now),
        row=Row(session, _pairs(fields)),
        sessions={home.decode(): id.decode() for home, id in _pairs(names).items()},
        places=[None if it is None else _placed(it) for it in places],
    )


def _placed(found: Sequence[Any]) -> Placed:
    segment, depth, above, home, session, entry, parent, edit = found
    return Placed(
        segment, depth, above, home.decode(), name_of(session), entry, parent.decode(), edit
    )


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


class AsyncTrees:
    """Carries out what was decided, in the slot of a tree or of an owner."""

    def __init__(self, link: AsyncLink, keys: Keys, marks: Marks) -> None:
        self._link = link
        self._keys = keys
        self._marks = marks

    async def mark(self, owner: str, tree: str) -> str:
        """Note with the owner that a tree is about to be written to."""
        key = self._keys.owner(owner)
        deadline: bytes = await self._link.ask("mark", [key], tree, MARKED_US)
        self._marks[tree] = deadline.decode()
        return self._marks[tree]

    async def mark_all(self, trees: Sequence[tuple[str, str]]) -> None:
        """Note with their owners that trees are about to be written to."""
        asked = [Asked("mark", [self._keys.owner(owner)], [it, MARKED_US]) for owner, it in trees]
        for (_, tree), answer in zip(trees, await self._link.ask_all(asked), strict=True):
            if isinstance(answer, bytes):
                self._marks[tree] = answer.decode()

    async def apply(
        self,
        owner: str,
        look: Look | State,
        commands: Sequence[Command],
        token: str,
        *,
        after_appends: bool = False,
        only_frees: bool = False,
    ) -> None:
        """Apply commands to a tree; with `after_appends`, appends since the look do not matter."""
        appends = "*" if after_appends else str(look.appends)
        name = "free" if only_frees else "apply"
        args = (look.tree, str(look.version), appends, token, flat(commands))
        deadline = self._marks.get(look.tree) or await self.mark(owner, look.tree)
        answer = await self._send(name, deadline, *args)
        if answer == b"late":
            answer = await self._send(name, await self.mark(owner, look.tree), *args)
        _refuse(answer, look.tree)

    async def create(
        self, tree: str, commands: Sequence[Command], token: str, deadline: str, version: str = ""
    ) -> None:
        """Apply commands to a tree that is new, or is at a version, before a claim's deadline."""
        answer = await self._send("apply", deadline, tree, version, "*", token, flat(commands))
        _refuse(answer, tree)

    async def _send(
        self,
        name: str,
        deadline: str,
        tree: str,
        version: str,
        appends: str,
        token: str,
        words: Sequence[Any],
    ) -> bytes:
        key = self._keys.tree(tree)
        answer: bytes = await self._link.ask(name, [key], version, appends, token, deadline, *words)
        return answer


def _refuse(answer: bytes, tree: str) -> None:
    if answer == b"late":
        raise StoreUnavailableError(
            "the write came too late, or the servers' clocks differ by much: try again"
        )
    if answer != b"ok":
        raise MovedError(tree)


def flat(commands: Sequence[Command]) -> list[Any]:
    """Write commands one after the other, each with its length before it."""
    return [word for command in commands for word in (len(command), *command)]
