"""Work on sessions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict, replace

from ....errors import NotFoundError, ReadOnlyError
from ....model import (
    ROOT,
    NewSession,
    Root,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
)
from ....rules.codec import encode_json
from ...base.refusals import no_message, no_session, session_exists, stale_session
from ..entries import split_entry
from ..rows import RedisSessionRow, encode_row
from . import deletion, listing
from .context import AsyncRedisWork
from .creation import create_empty, create_fork, find_fork_point
from .detached_fork import create_detached_fork
from .look import Look


class AsyncRedisSessions(AsyncRedisWork):
    """Work on sessions."""

    async def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        if await self._row(owner, new.id) is not None:
            raise session_exists(new.id)
        if new.parent is not None and await self._row(owner, new.parent.session) is None:
            raise no_session(new.parent.session)
        if new.fork is None:
            row = await create_empty(self._context, owner, new)
        else:
            look, at = await find_fork_point(self._context, owner, new.fork)
            create = create_detached_fork if new.fork.detach else create_fork
            row = await create(self._context, owner, new, look, at)
        return await self._context.record(owner, row)

    async def _row(self, owner: str, session: str) -> RedisSessionRow | None:
        """Find a session's row; one that has expired is deleted."""
        directory, client = self._context.directory, self._context.client
        known = directory.known_tree(owner, session)
        for is_sure in (False, True):
            tree = known if not is_sure else await directory.find_tree(owner, session)
            if tree is None:
                continue
            key = self._context.key(tree, f"s:{session}")
            fields: dict[bytes, bytes] = await client.run("HGETALL", key)
            if not fields:
                continue
            row = RedisSessionRow(session, fields)
            if row["x"] and row.is_expired(now := await self._context.now()):
                with suppress(ReadOnlyError):
                    await deletion.delete_session(
                        self._context, owner, session, tree, expired_at=now
                    )
                return None
            return row
        return None

    async def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record."""
        row = await self._row(owner, session)
        if row is None:
            return None
        try:
            return await self._context.record(owner, row)
        except NotFoundError:
            return None  # it was deleted while its context was worked out

    async def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord:
        """Change a session's record."""
        look = await self._context.directory.look(owner, session)
        if expected_version is not None and look.row.version != expected_version:
            raise stale_session(session, look.row.version, expected_version)
        given = {name: value for name, value in asdict(patch).items() if value is not UNSET}
        changes: dict[str, Any] = {"ver": look.row.version + 1}
        if "attributes" in given:
            changes["attributes"] = encode_json(given.pop("attributes"), "attributes")
            if look.row.has_data:
                changes["data"] = ""
        changes["p"] = encode_row(replace(look.row.profile, **given))
        return await self._change(owner, look, changes)

    async def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        """Move the tip."""
        ids = [] if isinstance(message, Root) else [message]
        look = await self._context.directory.look(owner, session, ids)
        if message is ROOT:
            changes: dict[str, Any] = {"tip": "", "ti": "", "raw": 0, "c": 0}
            return await self._change(owner, look, changes)
        place = look.places[0]
        if place is None:
            raise no_message(session, ids[0])
        head, _ = split_entry(place.entry)
        is_own = int(place.home == look.row.home)
        is_sum = not (look.is_edited or look.row.overlays)
        changes = {
            "tip": f"{place.segment} {place.depth} {place.above} {is_own}",
            "ti": ids[0],
            "raw": head.raw,
            "c": head.raw if is_sum else "",
        }
        return await self._change(owner, look, changes)

    async def _change(self, owner: str, look: Look, changes: dict[str, Any]) -> SessionRecord:
        command = self._context.change(look, changes)
        await self._context.apply(owner, look, [command], after_appends=True)
        return await self._context.record(owner, look.row.changed(changes))

    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions."""
        return await listing.list_page(self._context, owner, query)

    async def delete(self, owner: str, session: str) -> None:
        """Delete a session; its messages are swept after that."""
        await deletion.delete_session(self._context, owner, session)

    async def clear(self, owner: str, session: str) -> SessionRecord:
        """Retire a session's messages and go on under a new number."""
        row = await deletion.clear_session(self._context, owner, session)
        return await self._context.record(owner, row)

    async def erase_owner(self, owner: str) -> None:
        """Delete all that an owner has."""
        await deletion.erase_owner(self._context, owner)

    async def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        return await listing.count(self._context, owner)
