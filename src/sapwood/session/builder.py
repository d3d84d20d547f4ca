"""How sessions and managers are set up: by methods that each change one setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from ..errors import UsageError
from ..rules.tokens import TokenCounter
from .settings import ErrorHandler, Listener, SessionSettings, checked, refuse_uncallable

if TYPE_CHECKING:
    from ..compaction.function import CompactCallable

BLOCK_SETTINGS = {"context", "searchable_history"}


class Setup:
    """What a session is set up with: its settings, how tokens are counted, and who makes ids.

    The settings may be replaced while a session is built; its parts read them when they need them.
    """

    __slots__ = ("blocks_in_use", "counter", "new_id", "settings")

    def __init__(
        self,
        settings: SessionSettings,
        counter: TokenCounter | None,
        new_id: Callable[[], str] | None,
    ) -> None:
        refuse_uncallable(counter, "token_counter")
        self.settings = settings
        self.counter = counter
        self.new_id = new_id
        self.blocks_in_use = False


class Configurable:
    """The builder's methods: each changes one setting and gives back the object itself.

    They come before the first use, in any order.
    """

    _setup: Setup

    def _set(self, **changes: Any) -> Self:
        """Replace some settings; those of the blocks only before they are used."""
        setup = self._setup
        if setup.blocks_in_use and not BLOCK_SETTINGS.isdisjoint(changes):
            raise UsageError(
                "blocks are set before the session is used: use add_context now", path="context"
            )
        setup.settings = checked(msgspec.structs.replace(setup.settings, **changes), setup.settings)
        return self

    def with_context(
        self,
        label: str,
        *,
        description: str | None = None,
        max_tokens: int | None = None,
        provider: Any = None,
        default: str | None = None,
        readonly: bool = False,
        scope: Literal["session", "agent", "owner"] = "session",
        agent: str | None = None,
    ) -> Self:
        """Add a context block; without a provider its text is kept in the store."""
        from ..context import BlockConfig

        config = BlockConfig(
            label,
            description=description,
            max_tokens=max_tokens,
            provider=provider,
            default=default,
            readonly=readonly,
            scope=scope,
            agent=agent,
        )
        return self._set(context=(*self._setup.settings.context, config))

    def with_cached_prompt(self, cached: bool = True) -> Self:
        """Keep the frozen prompt in the store, which is the default; False renders it each time."""
        return self._set(cached_prompt=cached)

    def with_searchable_history(self, label: str = "history") -> Self:
        """Let the model search all that the owner's sessions hold."""
        return self._set(searchable_history=label)

    def compact_with(self, function: CompactCallable) -> Self:
        """Set what makes the summaries; see `sapwood.compaction.create_compact_function`."""
        return self._set(compact_with=function)

    def compact_after(self, tokens: int) -> Self:
        """Compact by itself when the context holds more than so many tokens."""
        return self._set(compact_after=tokens)

    def on_compaction_error(self, handler: ErrorHandler) -> Self:
        """Set who is told when a compaction that started by itself failed."""
        return self._set(on_compaction_error=handler)

    def on_event(self, listener: Listener) -> Self:
        """Add a listener, which is told of every change."""
        return self._set(listeners=(*self._setup.settings.listeners, listener))
