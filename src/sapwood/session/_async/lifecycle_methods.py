"""The methods of a manager that are about keys, and how sessions begin and end."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Unpack

from ...calls import AsyncCall
from ...model import NewSession, SessionKey, SessionRecord
from ..references import MessageRef, PlaceRef, id_of
from ..settings import NewSessionFields, new_session_fields
from ..turn_documents import turn_id_of

if TYPE_CHECKING:
    from ...lifecycle import FoundTurn
    from ...lifecycle._async.lifecycle import AsyncLifecycle
    from .session import AsyncSession

PLACEHOLDER = "new"


@AsyncCall.reminding
class AsyncLifecycleMethods:
    """What a manager does with keys: each conversation has one session that is current.

    A key is a `SessionKey`, or printed as one.
    """

    @abstractmethod
    def _lifecycle(self) -> AsyncLifecycle: ...

    @abstractmethod
    def _held(self, record: SessionRecord) -> AsyncSession: ...

    async def get_or_create(
        self, key: SessionKey | str, **fields: Unpack[NewSessionFields]
    ) -> AsyncSession:
        """Return the current session of a key, or begin one; the fields are for a new one only.

        Whoever asks at the same time, in whatever process, gets the same one.
        """
        lifecycle = self._lifecycle()
        new = NewSession(id=PLACEHOLDER, **new_session_fields(fields, ("key",)))
        return self._held(await lifecycle.get_or_create(lifecycle.key(key), new))

    async def current(self, key: SessionKey | str) -> AsyncSession | None:
        """Find the current session of a key; None when there is none, or it has ended."""
        lifecycle = self._lifecycle()
        record = await lifecycle.current(lifecycle.key(key))
        return None if record is None else self._held(record)

    async def new(self, key: SessionKey | str, **fields: Unpack[NewSessionFields]) -> AsyncSession:
        """Begin another session at a key; the one before is ended, with the reason "new".

        `AlreadyExistsError` when another session has the title that is given.
        """
        lifecycle = self._lifecycle()
        new = NewSession(id=PLACEHOLDER, **new_session_fields(fields, ("key",)))
        return self._held(await lifecycle.new(lifecycle.key(key), new))

    async def reset(self, key: SessionKey | str, *, keep_history: bool = False) -> AsyncSession:
        """Let the conversation of a key begin anew: with its blocks, prompt and attributes.

        With `keep_history`, what was said stays before it. The old session is ended with the reason
        "reset".
        """
        lifecycle = self._lifecycle()
        return self._held(await lifecycle.reset(lifecycle.key(key), keep_history=keep_history))

    async def resume(self, key: SessionKey | str, what: str | int) -> AsyncSession:
        """Let a session that is there be current at a key; one that has ended is opened again.

        `what` is its id, the beginning of it, its title, or its number in what `list_recent` gave.
        Of a title's lineage it is the latest, and of a conversation that was continued its end.
        `NotFoundError` when the owner has no such session, and `ConflictError` when it is current
        at another key.
        """
        lifecycle = self._lifecycle()
        return self._held(await lifecycle.resume(lifecycle.key(key), what))

    async def branch(
        self, key: SessionKey | str, *, at: PlaceRef | None = None, title: str | None = None
    ) -> AsyncSession:
        """Go on at a key in a fork of its session, from a message or from the tip.

        Without a title it gets the next number of the old one's.
        """
        lifecycle = self._lifecycle()
        return self._held(await lifecycle.branch(lifecycle.key(key), id_of(at), title))

    async def compact_and_split(
        self, key: SessionKey | str, *, summary: str | None = None, focus: str | None = None
    ) -> AsyncSession:
        """Go on at a key in a new session that begins with a summary of the one before.

        That is ended with the reason "compaction", and what was said in it stays to be found. When
        the summary cannot be made, everything is as it was.
        """

        async def cover(record: SessionRecord) -> None:
            await self._held(record)._context().compactor.cover_all(summary, focus)

        lifecycle = self._lifecycle()
        return self._held(await lifecycle.compact_and_split(lifecycle.key(key), cover))

    async def list_recent(self, key: SessionKey | str, *, limit: int = 10) -> list[SessionRecord]:
        """List the sessions that a key had, the last active first; `resume` takes their numbers.

        They are numbered from 1, for everybody who asks for this key, for a day.
        """
        lifecycle = self._lifecycle()
        return await lifecycle.lookup.list_recent(lifecycle.key(key), limit)

    async def find_turn(self, key: SessionKey | str, turn: MessageRef) -> FoundTurn | None:
        """Find a turn in the current session of a key, or in the last 16 that it left.

        So a message that is delivered twice is known again, also after a switch.
        """
        lifecycle = self._lifecycle()
        return await lifecycle.find_turn(lifecycle.key(key), turn_id_of(turn))

    async def end(self, id: str, reason: str = "completed") -> SessionRecord:
        """End a session: it takes no more messages, and its hooks are called.

        The first reason wins; one that has ended stays as it is.
        """
        return await self._lifecycle().states.end(id, reason)

    async def archive(self, id: str) -> SessionRecord:
        """End a session, if it has not ended, and keep it only."""
        return await self._lifecycle().states.archive(id)

    async def suspend(self, id: str) -> SessionRecord:
        """Let no agent go on with a session by itself, until `resume` or `reopen`."""
        return await self._lifecycle().states.suspend(id)

    async def reopen(self, id: str) -> AsyncSession:
        """Open a session again that has ended or is suspended; with a key, it is current there."""
        return self._held(await self._lifecycle().reopen(id))

    async def lineage(self, id: str) -> list[SessionRecord]:
        """List a session and what it came out of, one after the other, as far as it is there."""
        return await self._lifecycle().lineage.ancestors(id)

    async def root(self, id: str) -> SessionRecord:
        """Return the session that a conversation began with, as far as it is there."""
        return await self._lifecycle().lineage.root(id)

    async def end_of_chain(self, id: str) -> SessionRecord:
        """Return the session in which a conversation goes on that was continued in another one."""
        return await self._lifecycle().lineage.end_of_chain(id)
