"""What changes a session's state: it is ended, archived, suspended, opened again, deleted."""

from __future__ import annotations

from ...errors import NotFoundError, StaleVersionError
from ...model import SessionPatch, SessionRecord
from ...rules.states import Cause, SessionState, check_reason, check_transition
from ..route import SeenRoute, key_of
from .closings import AsyncClosings
from .endings import AsyncEndings
from .routes import AsyncRoutes


class AsyncStates:
    """States of one owner's sessions. Each change is decided again from a fresh read."""

    def __init__(self, closings: AsyncClosings, endings: AsyncEndings, routes: AsyncRoutes) -> None:
        self._closings = closings
        self._endings = endings
        self._routes = routes

    async def end(self, session: str, reason: str) -> SessionRecord:
        """Close a session, and call its hooks; the first reason wins."""
        check_reason(reason)
        while True:
            record = await self._closings.get(session)
            if record.closed:
                return await self._endings.finish(session) or record
            try:
                return await self.end_as_seen(record, reason)
            except StaleVersionError:
                continue

    async def end_as_seen(
        self, record: SessionRecord, reason: str, *, only_at_rest: bool = False
    ) -> SessionRecord:
        """Close an open session that is still as its record says; `StaleVersionError` otherwise.

        With `only_at_rest`, nothing may have been appended either (`StaleTipError`), and nobody may
        have its turn.
        """
        seen = await self._fenced(record)
        closed = await self._closings.close(
            record,
            reason,
            expected_tip=record.tip if only_at_rest else None,
            only_at_rest=only_at_rest,
        )
        if seen is not None and seen.route.session == record.id:
            await self._routes.release(seen._replace(current=closed))
        generation = None if seen is None else seen.route.generation
        return await self._endings.finish(record.id, generation=generation) or closed

    async def archive(self, session: str) -> SessionRecord:
        """End a session to keep it only; one that is ended already is archived."""
        record = await self.end(session, "archive")
        while record.state not in ("archived", "ending"):
            try:
                record = await self.archive_as_seen(record)
            except StaleVersionError:
                record = await self.end(session, "archive")
        return record

    async def archive_as_seen(self, record: SessionRecord) -> SessionRecord:
        """Archive a session that has ended and is still as its record says."""
        return await self._change(record, "archived", "archive")

    async def suspend(self, session: str, cause: Cause = "suspend") -> SessionRecord:
        """Let no agent go on with a session by itself until it is resumed."""
        while True:
            record = await self._closings.get(session)
            if record.state == "suspended":
                return record
            try:
                return await self._change(record, "suspended", cause)
            except StaleVersionError:
                continue

    async def delete(self, session: str, *, expected_version: int | None = None) -> bool:
        """Delete a session after its hooks have run.

        Return whether it is gone: if a hook failed it stays ending, and goes when that succeeds.
        """
        while True:
            record = await self._closings.get(session)
            if expected_version is not None and record.version != expected_version:
                raise StaleVersionError(
                    f"session {session!r} is at version {record.version}, and not at "
                    f"{expected_version}"
                )
            expected_version = None
            try:
                if not record.closed:
                    await self.end_as_seen(record, "delete")
                    return await self._closings.find(session) is None
                if record.state == "ending":
                    finished = await self._endings.finish(session, wait=True)
                    if finished is None or finished.state == "ending":
                        return finished is None
                    continue
                await self.delete_as_seen(record)
            except StaleVersionError:
                continue
            except NotFoundError as error:
                if error.id != session:
                    raise
            return True

    async def delete_as_seen(self, record: SessionRecord) -> None:
        """Delete a closed session that is still as its record says."""
        seen = await self._fenced(record)
        if seen is not None and seen.route.session == record.id:
            await self._routes.release(seen)
        await self._closings.delete(record)

    async def _fenced(self, record: SessionRecord) -> SeenRoute | None:
        """See that nobody takes a session that is not current while it is ended or deleted."""
        key = key_of(record)
        if key is None:
            return None
        seen = await self._routes.read(key)
        if seen.route.session != record.id:
            seen, _ = await self._routes.rewrite(seen)
        return seen

    async def _change(self, record: SessionRecord, to: SessionState, cause: Cause) -> SessionRecord:
        check_transition(record.state, to, cause, record.id)
        updated = await self._closings.store.update_session(
            self._closings.owner,
            record.id,
            SessionPatch(state=to),
            expected_version=record.version,
        )
        return updated.record
