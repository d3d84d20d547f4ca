"""Calling the hooks: one after the other, each isolated and limited in time, at least once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...calls import AsyncCall
from ...errors import NotFoundError, StaleVersionError
from ...model import (
    Document,
    DocumentChange,
    DocumentDelete,
    LifecycleHook,
    LifecycleProblem,
    Occasion,
)
from ...rules.codec import decode_stored
from ...store._async.contract import AsyncStore
from ..hook_documents import (
    LEASE_MARGIN_S,
    PROBLEMS,
    DoneHooks,
    done_key,
    failed_again,
    lease_key,
    problem_key,
    put_done,
)
from .hook_event import AsyncHookEvent

logger = logging.getLogger(__name__)


class ToldHooks(NamedTuple):
    """Whether all hooks are done, and what is to be written along with what follows from it."""

    all_done: bool
    along: Sequence[DocumentChange] = ()


class AsyncHookCalls:
    """The hooks of one owner's sessions."""

    def __init__(self, store: AsyncStore, owner: str, hooks: Sequence[LifecycleHook]) -> None:
        self._store = store
        self._owner = owner
        self._hooks = hooks

    def on(self, occasion: Occasion) -> list[LifecycleHook]:
        """Return the hooks of an occasion, in the order in which they are called."""
        return [hook for hook in self._hooks if hook.occasion == occasion]

    async def tell(
        self, event: AsyncHookEvent, number: int, *, now: bool = False
    ) -> ToldHooks | None:
        """Call those that are not done yet; None while somebody else does.

        What failed waits for its time, unless it is to be tried `now`. Each success is stored, but
        for the last one's, which the caller writes.
        """
        hooks = self.on(event.occasion)
        if {hook.name for hook in hooks} <= {*(await self._done(event, number)).names}:
            return ToldHooks(True)
        key = lease_key(event.occasion, number)
        lease = await self._lease(event.session, key, hooks)
        if lease is None:
            return None
        release = DocumentDelete(key=key)
        done = await self._done(event, number)
        left = [hook for hook in hooks if hook.name not in done.names]
        failed = 0
        for at, hook in enumerate(left):
            if not await self._call(hook, event, number, lease.updated_us, now=now):
                failed += 1
                continue
            done = DoneHooks(names=(*done.names, hook.name))
            if at < len(left) - 1:
                put = put_done(event.occasion, number, done)
                await self._store.put_documents(self._owner, event.session, [put])
        return ToldHooks(not failed, [put_done(event.occasion, number, done), release])

    async def _lease(
        self, session: str, key: str, hooks: Sequence[LifecycleHook]
    ) -> Document | None:
        """See that nobody else calls them; None when somebody does."""
        try:
            return await self._store.put_document(
                self._owner,
                key,
                b"",
                session=session,
                expected_version=0,
                expires_in_s=sum(hook.timeout_s for hook in hooks) + LEASE_MARGIN_S,
                inherit=False,
            )
        except StaleVersionError:
            return None

    async def problems(self) -> list[LifecycleProblem]:
        """List what failed, and is tried again."""
        found = await self._store.list_documents(self._owner, PROBLEMS)
        return [_decoded(document.key, document.value) for document in found]

    async def _done(self, event: AsyncHookEvent, number: int) -> DoneHooks:
        key = done_key(event.occasion, number)
        if not self.on(event.occasion):
            return DoneHooks()
        found = await self._store.find_document(self._owner, key, session=event.session)
        if found is None:
            return DoneHooks()
        otherwise = f"the document {key!r} of session {event.session!r} cannot be read"
        return decode_stored(msgspec.json.Decoder(DoneHooks).decode, found.value, otherwise)

    async def _call(
        self, hook: LifecycleHook, event: AsyncHookEvent, number: int, now_us: int, *, now: bool
    ) -> bool:
        """Call a hook, if it is its time; return whether it is done."""
        key = problem_key(event.session, event.occasion, number, hook.name)
        found = await self._store.find_document(self._owner, key)
        before = None if found is None else _decoded(key, found.value)
        if before is not None and before.next_us > now_us and not now:
            return False
        try:
            await AsyncCall.within(hook.timeout_s, hook.call, event)
        except Exception as error:
            where = (hook.name, event.session, event.owner)
            logger.warning("the hook %r failed for session %r of %r", *where, exc_info=True)
            problem = failed_again(
                before,
                error,
                now_us,
                hook=hook.name,
                occasion=event.occasion,
                session=event.session,
                number=number,
            )
            await self._store.put_document(self._owner, key, msgspec.json.encode(problem))
            return False
        if found is not None:
            await self._store.delete_document(self._owner, key)
        return True

    async def note(self, session: str, along: Sequence[DocumentChange]) -> None:
        """Write what is to be kept of hooks that were told, if the session is still there."""
        try:
            if along:
                await self._store.put_documents(self._owner, session, along)
        except NotFoundError as error:
            if error.kind != "session":
                raise


def _decoded(key: str, value: bytes) -> LifecycleProblem:
    otherwise = f"the document {key!r} cannot be read"
    return decode_stored(msgspec.json.Decoder(LifecycleProblem).decode, value, otherwise)
