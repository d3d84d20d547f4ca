"""The search for sessions that listings miss, or do not find by what their records say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....errors import StoreCorruptError
from ....model import Problem
from ....rules.system import NOTHING, decode_system, key_digest
from .client import RedisCommand
from .context import AsyncRedisContext
from .inspection import Finding, still_found
from .listing import in_pairs

_ORDERS = ("la", "lu", "lc", "due")
Members = dict[bytes, float]
"""The members of a sorted set, with their scores."""


class ListedRecord(NamedTuple):
    """What a tree says of a session: the seconds that it is ordered by, its expiry, its words."""

    active_s: int
    updated_s: int
    expires_us: int | None
    words: set[bytes]


async def listing_findings(context: AsyncRedisContext, owner: str) -> list[Finding]:
    """Look for what is wrong, three times if something is: others may be just writing it."""
    findings = await _look(context, owner)
    for _ in range(2):
        if findings:
            findings = still_found(findings, await _look(context, owner))
    return findings


async def _look(context: AsyncRedisContext, owner: str) -> list[Finding]:
    looking = AsyncListingInspection(context, owner)
    await looking.look()
    return looking.findings


class AsyncListingInspection:
    """One look at what an owner's sessions are found by."""

    def __init__(self, context: AsyncRedisContext, owner: str) -> None:
        self._context = context
        self._owner = owner
        self._trees: dict[bytes, str] = {}
        """The trees of sessions, by their names."""
        self._published: dict[bytes, bytes] = {}
        self._marked: set[bytes] = set()
        self.findings: list[Finding] = []

    def _key(self, part: str) -> str:
        return self._context.keys.owner(self._owner, part)

    def _add(self, member: bytes, what: str, *commands: RedisCommand) -> None:
        where = f"session {member[16:].decode()!r}"
        problem = Problem(kind="listing", where=where, what=what)
        self.findings.append(Finding(problem, list(commands)))

    async def look(self) -> None:
        """Look at all of it; the owner comes first, so that no tree is read as it was before."""
        commands: list[RedisCommand] = [
            ("HGET", self._context.keys.owner(self._owner), "lk"),
            *(("HGETALL", self._key(part)) for part in ("d", "x", "ki")),
            *(("ZRANGE", self._key(part), 0, -1) for part in ("h", "lk")),
            *(("ZRANGE", self._key(part), 0, -1, "WITHSCORES") for part in _ORDERS),
        ]
        (
            flag,
            directory,
            self._published,
            noted,
            marked,
            entries,
            *orders,
        ) = await self._context.client.run_all(commands)
        self._marked = set(marked)
        self._trees = {it: value.split(b" ")[0].decode() for it, value in directory.items()}
        numbers = {it: int(value.split(b" ")[1]) for it, value in directory.items()}
        names = {b"%016d" % number + it: it for it, number in numbers.items()}
        records, keys = await self._records(), await self._keys()
        active, updated, created, due = (_members(it) for it in orders)
        self._check_order("la", active, {it: _active_s(records.get(it)) for it in names})
        self._check_order("lc", created, dict.fromkeys(names, 0))
        if flag is None:
            # What an older version wrote has no words until a newer one has listed it.
            records = {}
        else:
            self._check_order("lu", updated, {it: _updated_s(records.get(it)) for it in names})
        self._check_due(records, due)
        self._check_words(names, records, keys, entries, noted)

    async def _records(self) -> dict[bytes, ListedRecord]:
        """Read what trees say of sessions; not of trees that are still to be published."""
        found: dict[bytes, ListedRecord] = {}
        for tree in dict.fromkeys(self._trees.values()):
            key = self._context.keys.tree(tree)
            try:
                answer = await self._context.client.run_script("pull_changes", [key], 1)
            except StoreCorruptError as error:
                self.findings.append(Finding(Problem(kind="tree", where=tree, what=str(error)), []))
                continue
            if answer[0] == b"ok" and self._is_published(tree.encode(), answer[1:3]):
                found |= dict(_records_in(answer[6]))
        return found

    def _is_published(self, tree: bytes, state: Sequence[bytes]) -> bool:
        known = self._published.get(tree, b"").split()[:2]
        # Whoever lists publishes what is marked, and nothing else.
        return known == [*state] or tree not in self._marked

    async def _keys(self) -> dict[bytes, bytes]:
        """Read what sessions with a key are found by, by their names."""
        stored = await self._context.client.run_all(
            [
                ("HGET", self._context.key(tree, f"s:{name.decode()}"), "sys")
                for name, tree in self._trees.items()
            ]
        )
        found: dict[bytes, bytes] = {}
        for name, it in zip(self._trees, stored, strict=True):
            where = f"session {name.decode()!r}"
            try:
                key = decode_system(it or NOTHING, where).key
            except StoreCorruptError as error:
                problem = Problem(kind="session", where=where, what=str(error))
                self.findings.append(Finding(problem, []))
                continue
            if key:
                found[name] = key_digest(key).hex().encode()
        return found

    def _check_order(self, part: str, kept: Members, right: Mapping[bytes, int | None]) -> None:
        """Look whether sessions are listed at their seconds, where these are known."""
        key = self._key(part)
        for member, second in right.items():
            if member not in kept:
                self._add(member, "not listed", ("ZADD", key, second or 0, member))
            elif second is not None and kept[member] != second:
                what = "it is listed at another second than that of its record"
                self._add(member, what, ("ZADD", key, second, member))
        for member in kept.keys() - right.keys():
            self._add(member, "is gone", ("ZREM", key, member))

    def _check_due(self, records: dict[bytes, ListedRecord], due: Members) -> None:
        for member, it in records.items():
            # It is looked at again when it was used since: an earlier time does no harm.
            if (
                it.expires_us is not None
                and due.get(member[16:], it.expires_us + 1) > it.expires_us
            ):
                command = ("ZADD", self._key("due"), it.expires_us, member[16:])
                self._add(member, "it is not noted when it expires", command)

    def _check_words(
        self,
        names: dict[bytes, bytes],
        records: dict[bytes, ListedRecord],
        keys: dict[bytes, bytes],
        entries: Sequence[bytes],
        noted: dict[bytes, bytes],
    ) -> None:
        """Look whether sessions are found by their words and keys, and by nothing else.

        By a key that it had before, a session may be found as long as its name stands.
        """
        found: dict[bytes, set[bytes]] = {member: set() for member in names}
        for entry in entries:
            word, member = entry.split(b" ", 1)
            found.setdefault(member, set()).add(word)
        for member in noted:
            found.setdefault(member, set())
        for member, by in found.items():
            held = set(noted.get(member, b"").split())
            if member not in names:
                self._add(member, "is gone", *self._put_words(member, by, set()))
                continue
            record = records.get(member)
            right = {it for it in by | held if record is None or _is_digest(it)}
            right |= {keys[it] for it in [names[member]] if it in keys}
            right |= record.words if record else set()
            if by != right or held != right:
                what = "it is not found by what its record says"
                self._add(member, what, *self._put_words(member, by, right))

    def _put_words(
        self, member: bytes, found: set[bytes], right: set[bytes]
    ) -> Iterator[RedisCommand]:
        """Yield the commands after which a session is found by some words, and by no others."""
        for word in sorted(found - right):
            yield "ZREM", self._key("lk"), word + b" " + member
        for word in sorted(right - found):
            yield "ZADD", self._key("lk"), 0, word + b" " + member
        words = b" ".join(sorted(right))
        put = ("HSET", self._key("ki"), member, words)
        yield put if right else ("HDEL", self._key("ki"), member)


def _members(answer: Sequence[Any]) -> Members:
    return {member: float(score) for member, score in in_pairs(answer)}


def _active_s(record: ListedRecord | None) -> int | None:
    return record and record.active_s


def _updated_s(record: ListedRecord | None) -> int | None:
    return record and record.updated_s


def _is_digest(word: bytes) -> bool:
    """Whether sessions are found by a word as by their keys; others begin with their letter."""
    return word[:1] not in b"stgk"


def _records_in(listed: Sequence[Any]) -> Iterator[tuple[bytes, ListedRecord]]:
    """Yield the members of listings and their records, as `pull_changes` gives them."""
    for start in range(0, len(listed), 5):
        member, active, expires, updated, words = listed[start : start + 5]
        seconds = (int(active) // 1_000_000, int(updated) // 1_000_000)
        yield member, ListedRecord(*seconds, int(expires) if expires else None, {*words.split()})
