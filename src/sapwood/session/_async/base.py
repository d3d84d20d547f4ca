"""What all parts of a session stand on: the store, whose it is, and who is told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from ...calling import AsyncAnswer, AsyncCall
from ...errors import AlreadyExistsError, NotFoundError
from ...model import Event, Message, NewSession, SessionRecord
from ...rules.ids import check_name
from ...rules.tokens import TokenCounter
from ...store._async.contract import AsyncStore
from ..settings import DEFAULTS, SessionSettings, refuse_uncallable

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class AsyncSessionBase:
    """One session of one owner in one store."""

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        id: str,
        *,
        new_id: Callable[[], str] | None = None,
        token_counter: TokenCounter | None = None,
        settings: SessionSettings = DEFAULTS,
        is_lazy: bool = False,
    ) -> None:
        check_name(owner, "owner")
        check_name(id, "session")
        refuse_uncallable(token_counter, "token_counter")
        self._store = store
        self._owner = owner
        self._id = id
        self._new_id = new_id
        self._counter = token_counter
        self._settings = settings
        self._is_lazy = is_lazy

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id!r} of {self._owner!r}>"

    @property
    def id(self) -> str:
        """The session's id."""
        return self._id

    @property
    def owner(self) -> str:
        """Whom it belongs to."""
        return self._owner

    async def record(self) -> SessionRecord:
        """Give the session's record: tip, title, tags, data, counts."""
        record = await self._store.find_session(self._owner, self._id)
        if record is None:
            raise NotFoundError(f"there is no session {self._id!r}", kind="session", id=self._id)
        return record

    async def get(self, id: str) -> Message:
        """Give a message, or raise `NotFoundError`."""
        message = await self.find(id)
        if message is None:
            raise NotFoundError(
                f"session {self._id!r} sees no message {id!r}", kind="message", id=id
            )
        return message

    async def find(self, id: str) -> Message | None:
        """Give a message, or None when it was deleted or was never there."""
        check_name(id, "id")
        [message] = await self._store.find_messages(self._owner, self._id, [id])
        return message

    async def _first_creating(self, write: Callable[[], AsyncAnswer[Result]]) -> Result:
        """Do a write; a session from a builder is created when this is its first."""
        try:
            return await write()
        except NotFoundError as error:
            if not self._is_lazy or error.kind != "session" or error.id != self._id:
                raise
        await self._create()
        return await write()

    async def _create(self) -> None:
        """Create the session of a builder, unless it is there."""
        if not self._is_lazy:
            return
        # When it is there already, another process was faster.
        with suppress(AlreadyExistsError):
            await self._store.create_session(self._owner, NewSession(id=self._id))
        self._is_lazy = False

    @contextmanager
    def _after_a_write(self, otherwise: str) -> Iterator[None]:
        """Do what follows a write that is stored; when it fails, the log says what is amiss.

        An error here would say that the write failed, and a caller who tries again does it twice.
        """
        try:
            yield
        except Exception:
            logger.warning("session %r of %r: %s", self._id, self._owner, otherwise, exc_info=True)

    async def _tell(self, event: Event) -> None:
        for listener in self._settings.listeners:
            try:
                await AsyncCall.now(listener, event)
            except Exception:  # what others supplied must not undo what was stored
                # What was said stands in the event, and belongs into no log.
                logger.warning(
                    "a listener failed at a %s of session %r of %r",
                    type(event).__name__,
                    event.session,
                    event.owner,
                    exc_info=True,
                )
