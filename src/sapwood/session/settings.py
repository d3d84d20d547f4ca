"""How a session behaves: its blocks, when it is compacted and how, and who is told.

The settings are given as keywords, or one after the other by the methods in `builder`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from ..errors import UsageError
from ..model import Event
from ..rules import check
from ..rules.tokens import estimate_text
from .fields import refuse_unknown

# Blocks and compaction are loaded by the sessions that have them: others do not pay for it.
if TYPE_CHECKING:
    from ..compaction.function import CompactCallable
    from ..context import BlockConfig

Listener = Callable[[Event], Awaitable[None] | None]
"""Called with each event, in the order of the changes, before the call that made it returns.

One that fails harms nothing.
"""
ErrorHandler = Callable[[Exception], Awaitable[None] | None]


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a session. Nothing of it is stored."""

    context: tuple[BlockConfig, ...] = ()
    cached_prompt: bool = True
    searchable_history: str | None = None
    compact_with: CompactCallable | None = None
    compact_after: int | None = None
    on_compaction_error: ErrorHandler | None = None
    listeners: tuple[Listener, ...] = ()
    capitals: frozenset[str] = frozenset()
    """The blocks' labels as the prompt shows them, so that one more costs no look at all others."""

    @property
    def compacts_by_itself(self) -> bool:
        """Whether a full context is compacted without being asked."""
        return self.compact_with is not None or self.compact_after is not None


DEFAULTS = SessionSettings()


class SettingFields(TypedDict, total=False):
    """The settings as keywords."""

    context: tuple[BlockConfig, ...] | list[BlockConfig]
    cached_prompt: bool
    searchable_history: str | None
    compact_with: CompactCallable | None
    compact_after: int | None
    on_compaction_error: ErrorHandler | None
    listeners: tuple[Listener, ...] | list[Listener]


def settings_of(fields: SettingFields, beside: Sequence[str] = ()) -> SessionSettings:
    """Check keywords and make settings of them; `beside` names those that the call itself has."""
    changes: dict[str, Any] = {**fields}
    refuse_unknown(changes, SettingFields, beside)
    for name in ("context", "listeners"):
        value = changes.get(name, ())
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{name} must be a list, not {type(value).__name__}", path=name)
        changes[name] = tuple(value)
    return checked(SessionSettings(**changes))


def checked(settings: SessionSettings, before: SessionSettings | None = None) -> SessionSettings:
    """Check settings that users gave; the blocks of those before were checked then."""
    if settings.searchable_history is not None:
        check.name(settings.searchable_history, "searchable_history")
    if settings.context:
        capitals = _check_blocks(settings, before or DEFAULTS)
        settings = msgspec.structs.replace(settings, capitals=capitals)
    check.instance(settings.cached_prompt, bool, "cached_prompt")
    check.whole(settings.compact_after, "compact_after", 0)
    # What `create_compact_function` gives has a plan instead.
    if not hasattr(settings.compact_with, "plan"):
        refuse_uncallable(settings.compact_with, "compact_with")
    refuse_uncallable(settings.on_compaction_error, "on_compaction_error")
    for index, listener in enumerate(settings.listeners):
        refuse_uncallable(listener, f"listeners[{index}]")
    return settings


def _check_blocks(settings: SessionSettings, before: SessionSettings) -> frozenset[str]:
    """Check the blocks that were not there before; return the labels of all in capitals."""
    from ..context.config import BlockConfig, check_config, check_labels

    blocks, start = settings.context, len(before.context)
    if blocks[:start] != before.context:
        before, start = DEFAULTS, 0
    for index, config in enumerate(blocks[start:], start):
        check.instance(config, BlockConfig, f"context[{index}]")
        check_config(config, estimate_text)
    new = {config.label.upper() for config in blocks[start:]}
    capitals = before.capitals | new
    history = settings.searchable_history
    if len(capitals) < len(blocks) or (history and history.upper() in capitals):
        labels = [config.label for config in blocks]
        check_labels([*labels, history] if history else labels)
    return capitals


def refuse_uncallable(value: object, path: str) -> None:
    """Refuse what is no function; None means that there is none."""
    if value is not None:
        check.function(value, path)
