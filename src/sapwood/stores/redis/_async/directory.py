"""Which tree a session is in: asked once, remembered, and asked again when it was wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....calls import AsyncAnswer
from ....errors import StoreBusyError
from ...base.bounded_dict import BoundedDict
from ...base.queues import AsyncCallerQueues
from ...base.refusals import no_session, session_exists
from ..keys import RedisKeys
from .client import AsyncRedisClient
from .look import Look, look_of

CLAIM_US = 3_000_000
"""How long a session may take to be created after its name was claimed."""
CLAIM_PAUSE_S = 0.02
MOST_REMEMBERED = 100_000


class AsyncSessionDirectory:
    """Finds sessions, and claims names for new ones."""

    def __init__(
        self,
        client: AsyncRedisClient,
        keys: RedisKeys,
        clock: Callable[[], int] | None,
        new_id: Callable[[], str],
    ) -> None:
        self._client = client
        self._keys = keys
        self._known = BoundedDict[tuple[str, str], str](MOST_REMEMBERED)
        self._clock = clock
        self._new_id = new_id

    def time(self) -> str:
        """Return the time for a script; empty when it is the server's."""
        return "" if self._clock is None else str(self._clock())

    async def entry(self, owner: str, session: str) -> bytes | None:
        """Return what stands in the directory under a session's name."""
        key = self._keys.owner(owner, "d")
        found: bytes | None = await self._client.run("HGET", key, session)
        return found

    async def find_tree(self, owner: str, session: str) -> str | None:
        """Find the tree of a session in the directory."""
        found = await self.entry(owner, session)
        return None if found is None else self.remember(owner, session, found)

    def remember(self, owner: str, session: str, entry: bytes) -> str:
        """Remember the tree of a session; return it."""
        tree = self._known[owner, session] = entry.split(b" ", 1)[0].decode()
        return tree

    def forget(self, owner: str, session: str) -> None:
        """Forget the tree of a session."""
        self._known.pop((owner, session), None)

    def known_tree(self, owner: str, session: str) -> str | None:
        """Return the tree that a session was last seen in."""
        return self._known.get((owner, session))

    async def in_tree(
        self, owner: str, session: str, go: Callable[[str], AsyncAnswer[Any]]
    ) -> tuple[str, Any]:
        """Run `go` on the tree of a session: the one remembered, or else the directory's.

        The tree's name is returned before the answer. A script answers `gone` when its tree does
        not have the session, or when that has expired.
        """
        tree = self.known_tree(owner, session)
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

    async def run_script(
        self, owner: str, session: str, name: str, *args: Any
    ) -> tuple[str, Sequence[Any]]:
        """Run a script on the tree of a session; return the tree's name before the answer."""
        time = self.time()
        return await self.in_tree(
            owner,
            session,
            lambda tree: self._client.run_script(
                name, [self._keys.tree(tree)], session, time, *args
            ),
        )

    async def look(
        self, owner: str, session: str, ids: Sequence[str] = (), *, with_sessions: bool = False
    ) -> Look:
        """Look at a session, and at messages that it may see."""
        tree, answer = await self.run_script(
            owner, session, "look", "1" if with_sessions else "", *ids
        )
        return look_of(tree, session, answer)

    async def claim(
        self, owner: str, session: str, tree: str, created_us: int | None
    ) -> tuple[bytes, int]:
        """Claim a name for a session that will be in a tree; return the claim and the time."""
        # The owner is listed before it has anything, so that it is listed once it has.
        await self._client.run("SADD", self._keys.owners, owner)
        key, token = self._keys.owner(owner), self._new_id()
        stands, created = b"", "" if created_us is None else created_us
        for _ in range(3 * int(CLAIM_US / 1_000_000 / CLAIM_PAUSE_S)):
            answer = await self._client.run_script(
                "claim_name", [key], session, tree, stands, CLAIM_US, created, self.time(), token
            )
            if answer[0] == b"ok":
                return answer[1], int(answer[2])
            if answer[0] == b"taken":
                stands = answer[1]
            else:
                await AsyncCallerQueues.pause(CLAIM_PAUSE_S)
            if stands:
                other = self.remember(owner, session, stands)
                if await self._client.run("EXISTS", self._keys.tree(other, f"s:{session}")):
                    raise session_exists(session)
        raise StoreBusyError(f"session {session!r} is being created by somebody: try again")

    async def release(self, owner: str, session: str, entry: bytes) -> None:
        """Take a name out of the directory, if it stands there as given."""
        self.forget(owner, session)
        await self._client.run_script("release_name", [self._keys.owner(owner)], session, entry)
