"""Which tree a session is in: asked once, remembered, and asked again when it was wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....calling import AsyncAnswer
from ....errors import AlreadyExistsError, StoreBusyError
from ..keys import Keys
from ..rows import no_session
from .link import AsyncLink
from .tree import Look, look_of

CLAIM_US = 3_000_000
"""How long a session may take to be created after its name was claimed."""
CLAIM_PAUSE_S = 0.02
MOST_REMEMBERED = 100_000

Known = dict[tuple[str, str], str]


class AsyncDirectory:
    """Finds sessions, and claims names for new ones."""

    def __init__(
        self, link: AsyncLink, keys: Keys, known: Known, clock: Callable[[], int] | None
    ) -> None:
        self._link = link
        self._keys = keys
        self._known = known
        self._clock = clock

    def time(self) -> str:
        """Give the time to tell a script; empty when it is the server's."""
        return "" if self._clock is None else str(self._clock())

    async def value(self, owner: str, session: str) -> bytes | None:
        """Give what stands in the directory."""
        key = self._keys.owner(owner, "d")
        found: bytes | None = await self._link.run("HGET", key, session)
        return found

    async def find_tree(self, owner: str, session: str) -> str | None:
        """Find the tree of a session in the directory."""
        found = await self.value(owner, session)
        return None if found is None else self.remember(owner, session, found)

    def remember(self, owner: str, session: str, value: bytes) -> str:
        """Remember the tree of a session; give it."""
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        tree = value.split(b" ", 1)[0].decode()
        self._known[owner, session] = tree
        return tree

    def forget(self, owner: str, session: str) -> None:
        """Forget the tree of a session."""
        self._known.pop((owner, session), None)

    def known(self, owner: str, session: str) -> str | None:
        """Give the tree that a session was last seen in."""
        return self._known.get((owner, session))

    async def ask(
        self, owner: str, session: str, go: Callable[[str], AsyncAnswer[Any]]
    ) -> tuple[str, Any]:
        """Ask a tree about a session, another one if it is not there; give its name, too."""
        tree = self.known(owner, session)
        if tree is not None:
            answer = await go(tree)
            if answer[0] != b"gone":
                return tree, answer
        tree = await self.find_tree(owner, session)
        if tree is None:
            self.forget(owner, session)
            raise no_session(session)
        answer = await go(tree)
        if answer[0] == b"gone":
            raise no_session(session)
        return tree, answer

    async def ask_script(
        self, owner: str, session: str, name: str, *args: Any
    ) -> tuple[str, Sequence[Any]]:
        """Ask a script about a session."""
        time = self.time()
        return await self.ask(
            owner,
            session,
            lambda tree: self._link.ask(name, [self._keys.tree(tree)], session, time, *args),
        )

    async def look(
        self, owner: str, session: str, ids: Sequence[str] = (), *, with_sessions: bool = False
    ) -> Look:
        """Look at a session, and at messages that it may see."""
        tree, answer = await self.ask_script(
            owner, session, "look", "1" if with_sessions else "", *ids
        )
        return look_of(tree, session, answer)

    async def claim(
        self, owner: str, session: str, tree: str, created_us: int | None, token: str
    ) -> tuple[bytes, int]:
        """Claim a name for a session that will be in a tree; give the claim and the time."""
        # The owner is listed before it has anything, so that it is listed once it has.
        await self._link.run("SADD", self._keys.owners, owner)
        key = self._keys.owner(owner)
        stands, created = b"", "" if created_us is None else created_us
        for _ in range(3 * int(CLAIM_US / 1_000_000 / CLAIM_PAUSE_S)):
            answer = await self._link.ask(
                "claim", [key], session, tree, stands, CLAIM_US, created, self.time(), token
            )
            if answer[0] == b"ok":
                return answer[1], int(answer[2])
            if answer[0] == b"taken":
                stands = answer[1]
            else:
                await self._link.pause(CLAIM_PAUSE_S)
            if stands and await self._is_there(owner, session, stands):
                raise exists(session)
        raise StoreBusyError(f"session {session!r} is being created by somebody: try again")

    async def _is_there(self, owner: str, session: str, value: bytes) -> bool:
        tree = self.remember(owner, session, value)
        found = await self._link.run("EXISTS", self._keys.tree(tree, f"s:{session}"))
        return bool(found)

    async def release(self, owner: str, session: str, value: bytes) -> None:
        """Take a name out of the directory, if it stands there as given."""
        self.forget(owner, session)
        await self._link.ask("forget", [self._keys.owner(owner)], session, value)


def exists(session: str) -> AlreadyExistsError:
    """Say that a session is there already."""
    return AlreadyExistsError(f"there is a session {session!r} already: open that one")
