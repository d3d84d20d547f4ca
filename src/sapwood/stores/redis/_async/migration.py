"""The version of what is stored, and the settings that a server must have."""

from __future__ import annotations

from typing import Any

from ....errors import MigrationNeededError, SchemaTooNewError, StoreCorruptError, StoreError
from ..keys import RedisKeys
from .client import AsyncRedisClient

SCHEMA_VERSION = 1
OLDEST = 7


class AsyncRedisMigrator:
    """Looks at the servers, and brings what is stored up to date."""

    def __init__(self, client: AsyncRedisClient, keys: RedisKeys) -> None:
        self._client = client
        self._keys = keys

    async def refuse_sizes(self, most_bytes: int) -> None:
        """Refuse servers that take less than a message may have, where they say what they take."""
        name = "proto-max-bulk-len"
        try:
            answers = await self._client.on_each_server("CONFIG GET", name)
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

    async def make_ready(self, *, may_migrate: bool) -> None:
        """Refuse servers that cannot be used; bring what is stored up to date."""
        for info in await self._client.on_each_server("INFO", "everything"):
            refuse_settings(info)
        if await self.version() == SCHEMA_VERSION:
            return
        if not may_migrate:
            raise MigrationNeededError(
                f"there is nothing under the prefix {self._keys.prefix!r}, or something older "
                "than this sapwood: call admin.migrate()"
            )
        await self.migrate()

    async def version(self) -> int:
        """Return the version of what is stored; 0 when there is nothing."""
        found = await self._client.run("GET", self._keys.schema)
        if found is None:
            return 0
        if not found.isdigit():
            raise StoreCorruptError(f"{self._keys.schema} is not a version: {found!r}")
        version = int(found)
        if version > SCHEMA_VERSION:
            raise SchemaTooNewError(
                f"what is stored under {self._keys.prefix!r} has version {version}, and this "
                f"sapwood knows {SCHEMA_VERSION}: use a newer sapwood"
            )
        return version

    async def migrate(self) -> int:
        """Bring what is stored up to date; several may do so at once."""
        if await self.version() < SCHEMA_VERSION:
            await self._client.run("SET", self._keys.schema, SCHEMA_VERSION, "NX")
        return await self.version()


def refuse_settings(info: dict[str, Any]) -> None:
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
