"""What of a store's texts is rewritten, noted on the way."""

from __future__ import annotations

from ....calls import AsyncCall
from ....model import Message, Overlay, Rewritable
from ....rules.text import searchable
from ....store._async.admin import Rewrite


class AsyncNotedTexts:
    """Passes things on to a function, and notes what says something else after it."""

    def __init__(self, function: Rewrite) -> None:
        self._function = function
        self.messages: list[str] = []
        self.overlays: list[str] = []

    async def made(self, given: Rewritable) -> Rewritable:
        """Return what the function makes of a thing."""
        made: Rewritable = await AsyncCall.now(self._function, given)
        match given, made:
            case Message(), Message() if searchable(given.parts) != searchable(made.parts):
                self.messages.append(given.id)
            case Overlay(), Overlay() if given.summary != made.summary:
                self.overlays.append(given.id)
        return made
