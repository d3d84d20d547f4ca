"""What work stands on: it looks, decides, applies if nothing has changed; and sessions' names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ....calls import AsyncAnswer
from ....errors import ReadOnlyError, StoreBusyError, StoreUnavailableError
from ....model import NewSession, SessionRecord
from ....rules.system import key_digest
from ...base.bounded_dict import BoundedDict
from ...base.queues import AsyncCallerQueues
from ...base.refusals import no_session, session_exists
from ..entries import SEP
from ..look import Look, TreeState, look_of
from ..rows import OverlayRange, RedisKeys, RedisSessionRow
from .client import AsyncRedisClient, RedisCommand, ScriptCall

MARKED_US = 60_000_000
"""For how long a mark says that a tree may be written to."""
MOST_REMEMBERED = 100_000
CLAIM_US = 3_000_000
"""How long a session may take to be created after its name was claimed."""
CLAIM_PAUSE_S = 0.02


class MovedError(Exception):
    """Something has changed since it was looked at: the unit of work begins again.

    Those that write to the same place in one process then go one after the other.
    """

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self.where = where


class AsyncRedisContext:
    """The servers, the directory and the trees, for all subjects of work."""

    def __init__(
        self,
        client: AsyncRedisClient,
        keys: RedisKeys,
        *,
        clock: Callable[[], int] | None,
        new_id: Callable[[], str],
        ttl_us: int | None,
    ) -> None:
        self.client = client
        self.keys = keys
        self.clock = clock
        self.new_id = new_id
        self.ttl_us = ttl_us
        # Until when trees are marked as being written to; what is forgotten is marked again.
        self.marks = BoundedDict[str, str](MOST_REMEMBERED)
        self.directory = AsyncSessionDirectory(client, keys, clock, new_id)

    async def now(self) -> int:
        """Return the time: the server's, or that of a clock that was given."""
        if self.clock is not None:
            return self.clock()
        seconds, micros = await self.client.run("TIME")
        return int(seconds) * 1_000_000 + int(micros)

    def key(self, tree: str, part: str) -> str:
        """Name a key of a tree."""
        return self.keys.tree(tree, part)

    async def mark(self, owner: str, tree: str) -> str:
        """Note with the owner that a tree is about to be written to; return until when."""
        key = self.keys.owner(owner)
        deadline: bytes = await self.client.run_script("mark_tree", [key], tree, MARKED_US)
        self.marks[tree] = deadline.decode()
        return self.marks[tree]

    async def mark_all(self, trees: Sequence[tuple[str, str]]) -> None:
        """Note with their owners that trees are about to be written to."""
        calls = [
            ScriptCall("mark_tree", [self.keys.owner(owner)], [tree, MARKED_US])
            for owner, tree in trees
        ]
        for (_, tree), answer in zip(trees, await self.client.try_scripts(calls), strict=True):
            if isinstance(answer, bytes):
                self.marks[tree] = answer.decode()

    async def apply(
        self,
        owner: str,
        look: Look | TreeState,
        commands: Sequence[RedisCommand],
        *,
        after_appends: bool = False,
        only_frees: bool = False,
        at_tip: bool = False,
    ) -> None:
        """Apply what was decided; with `after_appends`, appends since the look do not matter.

        With `at_tip` only those of the session itself do: it has to have the tip that it had.
        """
        tree, name = look.tree, "apply_freeing" if only_frees else "apply"
        key = [self.keys.tree(tree)]
        appends: str | int = "*" if after_appends else look.appends
        if at_tip and isinstance(look, Look):
            appends = f"{look.row.id}{SEP}{look.row['ti']}"
        known = (look.version, appends, self.new_id())
        words = _words(commands)
        deadline = self.marks.get(tree) or await self.mark(owner, tree)
        answer = await self.client.run_script(name, key, *known, deadline, *words)
        if answer == b"late":
            deadline = await self.mark(owner, tree)
            answer = await self.client.run_script(name, key, *known, deadline, *words)
        _refuse(answer, tree)

    async def apply_at(
        self,
        key: str,
        version: str,
        commands: Sequence[RedisCommand],
        *,
        deadline: str = "",
        where: str = "",
    ) -> None:
        """Apply commands beside a key that is not there yet, or has a version, by a deadline."""
        args = (version, "*", self.new_id(), deadline, *_words(commands))
        _refuse(await self.client.run_script("apply", [key], *args), where)

    def change(self, look: Look, changes: dict[str, Any], session: str = "") -> RedisCommand:
        """Return the command that changes a session's record, by default of the one looked at."""
        key = self.key(look.tree, f"s:{session or look.row.id}")
        return ("HSET", key, *flat_pairs(changes))

    def tell(self, tree: str, session: str, version: int, now: int) -> RedisCommand:
        """Return the command that tells the feed of a session's record, made or changed."""
        return ("RPUSH", self.key(tree, "f"), f"C {now}/{version} {session}")

    def forget_context_sums(self, look: Look) -> list[RedisCommand]:
        """Return the commands after which the sums of all sessions are worked out anew."""
        return [self.change(look, {"c": ""}, session) for session in look.sessions.values()]

    def add_overlay(
        self, tree: str, session: str, number: str, range: OverlayRange, stored: bytes
    ) -> list[RedisCommand]:
        """Return the commands that put an overlay in force, given both numbers."""
        return [
            ("HSET", self.key(tree, "y"), number, stored),
            ("HSET", self.key(tree, "w"), number, str(range)),
            ("HSET", self.key(tree, "q"), range.id, number),
            ("HSET", self.key(tree, "wr"), number, 1),
            ("ZADD", self.key(tree, f"v:{session}"), 0, range.member(number)),
        ]

    async def record(self, owner: str, row: RedisSessionRow) -> SessionRecord:
        """Return a session's record; its context is worked out if it is not known."""
        known = row["c"]
        return row.record(int(known) if known else await self._context_tokens(owner, row.id))

    async def _context_tokens(self, owner: str, session: str) -> int:
        """Work out a session's context at its tip, and keep it unless something changed."""
        tree, answer = await self.directory.run_script(owner, session, "context_tokens")
        _, version, appends, tokens, may_be_kept = answer
        if may_be_kept:
            args = (version, appends, self.key(tree, f"s:{session}"), tokens)
            # Where nothing can be written, as on a replica, it is worked out each time.
            with suppress(ReadOnlyError):
                await self.client.run_script("keep_context", [self.keys.tree(tree)], *args)
        return int(tokens)


class AsyncRedisWork:
    """Work on one subject."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self._context = context


def flat_pairs(fields: dict[str, Any]) -> list[Any]:
    """Write fields one after the other."""
    return [word for pair in fields.items() for word in pair]


def _words(commands: Sequence[RedisCommand]) -> list[Any]:
    """Write commands one after the other, each with its length before it."""
    return [word for command in commands for word in (len(command), *command)]


def _refuse(answer: bytes, where: str) -> None:
    if answer == b"late":
        raise StoreUnavailableError(
            "the write came too late, or the servers' clocks differ by much: try again"
        )
    if answer != b"ok":
        raise MovedError(where)


class NameClaim(NamedTuple):
    """A name that was claimed for a session: what stands under it, when, and its first version."""

    entry: bytes
    now: int
    version: int


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

    async def claim(self, owner: str, new: NewSession, tree: str) -> NameClaim:
        """Claim a name for a session that will be in a tree."""
        # The owner is listed before it has anything, so that it is listed once it has.
        await self._client.run("SADD", self._keys.owners, owner)
        key, token, session = self._keys.owner(owner), self._new_id(), new.id
        stands, created = b"", "" if new.created_us is None else new.created_us
        digest = key_digest(new.system.key).hex()
        rest = (CLAIM_US, created, self.time(), token, digest)
        for _ in range(3 * int(CLAIM_US / 1_000_000 / CLAIM_PAUSE_S)):
            answer = await self._client.run_script(
                "claim_name", [key], session, tree, stands, *rest
            )
            if answer[0] == b"ok":
                return NameClaim(answer[1], int(answer[2]), await self._first_version())
            if answer[0] == b"taken":
                stands = answer[1]
            else:
                await AsyncCallerQueues.pause(CLAIM_PAUSE_S)
            if stands:
                other = self.remember(owner, session, stands)
                if await self._client.run("EXISTS", self._keys.tree(other, f"s:{session}")):
                    raise session_exists(session)
        raise StoreBusyError(f"session {session!r} is being created by somebody: try again")

    async def _first_version(self) -> int:
        """Return the version of a new session, above that of all that were deleted before now."""
        return int(await self._client.run("ZSCORE", self._keys.floor, "version") or 0) + 1

    async def release(self, owner: str, session: str, entry: bytes) -> None:
        """Take a name out of the directory, if it stands there as given."""
        self.forget(owner, session)
        await self._client.run_script("release_name", [self._keys.owner(owner)], session, entry)
