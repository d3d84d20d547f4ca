"""Work on the store as a whole: its version, the servers' settings, checks and repairs."""

from __future__ import annotations

from typing import Any

from ...._version import __version__
from ....errors import MigrationNeededError, SchemaTooNewError, StoreCorruptError, StoreError
from ....model import ChangedOwners, Health, Problem
from ....store.owners import next_owners
from ..look import TreeState
from .context import AsyncRedisWork
from .inspection import OUT_OF_ORDER, are_out_of_order, inspect
from .listing import trees_of
from .listing_check import listing_findings
from .maintenance import publish, publish_all

SCHEMA_VERSION = 1
OLDEST = 7


class AsyncRedisAdmin(AsyncRedisWork):
    """Work on the store as a whole."""

    async def health(self) -> Health:
        """Return which store this is, and whether all of its servers take writes."""
        answers = await self._context.client.on_each_server("INFO", "everything")
        names = "redis cluster" if self._context.client.is_cluster else "redis"
        is_writable = all(it.get("role") == "master" for it in answers)
        return Health(store=names, version=__version__, writable=is_writable)

    async def _refuse_sizes(self, most_bytes: int) -> None:
        """Refuse servers that take less than a message may have, where they say what they take."""
        name = "proto-max-bulk-len"
        try:
            answers = await self._context.client.on_each_server("CONFIG GET", name)
        except StoreError as error:
            if error.retryable:
                raise
            return  # Many do not let clients look at their settings.
        for limit in (int(it.get(name, most_bytes * 2)) for it in answers):
            if limit < most_bytes:
                raise StoreError(
                    f"the server's {name} is {limit}, and a message may have {most_bytes} bytes: "
                    "raise it, or open the store with a lower max_message_bytes"
                )

    async def make_ready(self, *, may_migrate: bool, most_bytes: int) -> None:
        """Refuse servers that cannot be used; bring what is stored up to date."""
        await self._refuse_sizes(most_bytes)
        for info in await self._context.client.on_each_server("INFO", "everything"):
            _refuse_settings(info)
        if await self.schema_version() == SCHEMA_VERSION:
            return
        if not may_migrate:
            raise MigrationNeededError(
                f"there is nothing under the prefix {self._context.keys.prefix!r}, or something "
                "older than this sapwood: call admin.migrate()"
            )
        await self.migrate()

    async def schema_version(self) -> int:
        """Return the version of what is stored; 0 when there is nothing."""
        found = await self._context.client.run("GET", self._context.keys.schema)
        if found is None:
            return 0
        if not found.isdigit():
            raise StoreCorruptError(f"{self._context.keys.schema} is not a version: {found!r}")
        version = int(found)
        if version > SCHEMA_VERSION:
            raise SchemaTooNewError(
                f"what is stored under {self._context.keys.prefix!r} has version {version}, and "
                f"this sapwood knows {SCHEMA_VERSION}: use a newer sapwood"
            )
        return version

    async def migrate(self) -> int:
        """Bring what is stored up to date; several may do so at once."""
        if await self.schema_version() < SCHEMA_VERSION:
            await self._context.client.run("SET", self._context.keys.schema, SCHEMA_VERSION, "NX")
        return await self.schema_version()

    async def owners(self) -> list[str]:
        """List the owners that have anything stored."""
        names = await self._context.client.run("SMEMBERS", self._context.keys.owners)
        owners = sorted(name.decode() for name in names)
        keys = self._context.keys
        parts = await self._context.client.run_all(
            [("EXISTS", keys.owner(it, part)) for it in owners for part in ("d", "k:")]
        )
        return [it for n, it in enumerate(owners) if parts[2 * n] or parts[2 * n + 1]]

    async def changed_owners(self, after: str, limit: int) -> ChangedOwners:
        """List owners, one after the other."""
        return next_owners(await self.owners(), after, limit)

    async def check(self) -> list[Problem]:
        """Look for damage; change nothing."""
        problems: list[Problem] = []
        for owner in await self.owners():
            problems += [it.problem for it in await listing_findings(self._context, owner)]
            problems += await self._check_documents(owner)
            for tree in await trees_of(self._context, owner):
                _, findings = await inspect(self._context, tree)
                problems += [it.problem for it in findings]
        return problems

    async def repair(self) -> None:
        """Put right what is derived."""
        for owner in await self.owners():
            findings = await listing_findings(self._context, owner)
            for finding in findings:
                await self._context.client.run_all(finding.commands)
            if await self._check_documents(owner):
                await self._order_documents(owner)
            for tree in await trees_of(self._context, owner):
                await self._repair_tree(owner, tree)
                # When its sessions were active, and what they are found by, is known there only.
                await publish(self._context, owner, [tree])
            await publish_all(self._context, owner)

    async def _repair_tree(self, owner: str, tree: str) -> None:
        loaded, findings = await inspect(self._context, tree)
        commands = [command for finding in findings for command in finding.commands]
        if commands:
            state = TreeState(tree, int(loaded.state[b"v"]), int(loaded.state[b"a"]))
            await self._context.apply(owner, state, commands)

    async def _check_documents(self, owner: str) -> list[Problem]:
        """Look whether the keys of an owner's documents are in order, twice if they are not."""
        places = [self._context.keys.owner(owner, part) for part in ("k:", "ks:")]
        for _ in range(2):
            if not await are_out_of_order(self._context.client, *places):
                return []
        return [Problem(kind="documents", where=f"owner {owner!r}", what=OUT_OF_ORDER)]

    async def _order_documents(self, owner: str) -> None:
        place = self._context.keys.owner(owner)
        version = await self._context.client.run("HGET", place, "v")
        command = ("order", self._context.keys.owner(owner, "k:"))
        known = "" if version is None else version.decode()
        await self._context.apply_at(place, known, [command], where=place)


def _refuse_settings(info: dict[str, Any]) -> None:
    """Refuse a server that is too old, or that throws data away when memory is short."""
    version = str(info.get("redis_version", "0"))
    if int(version.partition(".")[0]) < OLDEST:
        raise StoreError(f"Redis {OLDEST} or later is needed, and this is {version}")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise StoreError(
            f"the server's maxmemory-policy is {policy!r}: when memory is short it would throw "
            "away parts of conversations; set it to 'noeviction'"
        )
