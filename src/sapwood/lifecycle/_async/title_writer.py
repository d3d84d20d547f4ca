"""Titles that come by themselves: from the first message at once, and from a model after it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...calls import AsyncCall
from ...errors import SapwoodError
from ...model import CHAT, AppendEvent, Event
from ...rules.titles import check_model_title, derive_title
from ..background import AsyncBackground
from .lifecycle import AsyncLifecycle

logger = logging.getLogger(__name__)

MOST_SHOWN = 1_000
MOST_KNOWN = 10_000
TIMEOUT_S = 60.0
PROMPT = (
    "Write a title of 3 to 7 words for the conversation that begins as follows, in its language. "
    "Answer with the title alone.\n\n"
)


class AsyncTitleWriter:
    """A listener that gives sessions a title when the user first says something."""

    def __init__(
        self,
        lifecycle_of: Callable[[str], AsyncLifecycle],
        background: AsyncBackground,
        model: Callable[[str], Any] | None,
    ) -> None:
        self._lifecycle_of = lifecycle_of
        self._background = background
        self._model = model
        # Sessions that have a title need not be looked at again.
        self._known: set[tuple[str, str]] = set()

    async def __call__(self, event: Event) -> None:
        """Give a session a title, if this is what it needs."""
        if not isinstance(event, AppendEvent) or (event.owner, event.session) in self._known:
            return
        new = event.messages[len(event.messages) - event.written :]
        said = next((it.text for it in new if it.role == "user" and it.text), None)
        title = None if said is None else derive_title(said)
        if said is None or title is None:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        lifecycle = self._lifecycle_of(event.owner)
        record = await lifecycle.closings.find(event.session)
        if record is not None and record.title is None and record.kind == CHAT:
            await lifecycle.titles.set(event.session, title, "derived")
            if self._model is not None:
                self._background.start(
                    f"title of {event.session}", lambda: self._ask(lifecycle, event.session, said)
                )
        self._known.add((event.owner, event.session))

    async def _ask(self, lifecycle: AsyncLifecycle, session: str, said: str) -> None:
        try:
            answer = await AsyncCall.within(
                TIMEOUT_S, self._model or str, PROMPT + said[:MOST_SHOWN]
            )
            await lifecycle.titles.set(session, check_model_title(answer), "model")
        except SapwoodError as error:
            logger.warning("session %r keeps the title it has: %s", session, error)
