"""What the methods of a session stand on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...calls import AsyncCall
from ...model import Appended, NewMessage, NewSession, TextPart
from ...rules.tokens import TokenCounter
from ...store._async.contract import AsyncStore
from ..content import check_role, sanitized
from ..references import PlaceRef, id_of
from ..settings import DEFAULTS, SessionSettings, Setup
from .call_pairs import AsyncCallPairs
from .stored_session import AsyncStoredSession

# Loaded when it is first needed: who only appends and reads does not pay for it.
if TYPE_CHECKING:
    from .model_context import AsyncModelContext

_making = threading.Lock()


class AsyncSessionBase:
    """Where a session is stored, how it is set up, and what looks after the model's context."""

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        id: str,
        *,
        new_id: Callable[[], str] | None = None,
        token_counter: TokenCounter | None = None,
        settings: SessionSettings = DEFAULTS,
        lazy: NewSession | None = None,
    ) -> None:
        self._setup = Setup(settings, token_counter, new_id)
        self._stored = AsyncStoredSession(store, owner, id, self._setup, lazy=lazy)
        self._pairs = AsyncCallPairs(self._stored)
        self._made: AsyncModelContext | None = None

    def _context(self) -> AsyncModelContext:
        if self._made is None:
            from .model_context import AsyncModelContext

            # It remembers things: threads that need it at the same time must get the same one.
            with _making:
                if self._made is None:
                    self._made = AsyncModelContext(self._stored)
        return self._made

    async def _cleaned(self, messages: Sequence[NewMessage]) -> list[NewMessage]:
        """Show messages to the sanitizers, and refuse roles that are none."""
        settings, cleaned = self._setup.settings, []
        for message in messages:
            for sanitizer in settings.sanitizers:
                message = sanitized(
                    await AsyncCall.now(sanitizer, message), message, self._setup.counter
                )
            check_role(message, settings.roles)
            cleaned.append(message)
        return cleaned

    async def _cleaned_text(self, text: str) -> str:
        """Show the sanitizers what is stored beside a message, as one of its own."""
        if not self._setup.settings.sanitizers or not isinstance(text, str):
            return text
        shown = NewMessage(role="user", parts=[TextPart(text=text)])
        return (await self._cleaned([shown]))[0].text

    async def _append(
        self,
        new: list[NewMessage],
        parent: PlaceRef | None,
        expected_tip: PlaceRef | None,
        *,
        allow_orphans: bool = False,
    ) -> Appended:
        """Append messages after the tip, or after `parent`, all or none."""
        stored = self._stored
        if not allow_orphans:
            await self._pairs.check(new, parent)
        appended = await stored.first_creating(
            lambda: stored.store.append(
                stored.owner,
                stored.id,
                new,
                parent=id_of(parent),
                expected_tip=id_of(expected_tip),
            ),
            # In a new session it would be refused.
            may_be_first=not any(isinstance(id_of(it), str) for it in (parent, expected_tip)),
        )
        await self._after_append(appended)
        return appended

    async def _after_append(self, appended: Appended) -> None:
        """Do what follows an append that is stored."""
        self._pairs.note(appended.messages)
        settings = self._setup.settings
        if settings.listeners or settings.compacts_by_itself:
            await self._context().watch.after_append(appended)
