"""How a session behaves, and how that is set: by keywords, or by methods of a builder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, get_args

import msgspec

from ..errors import UsageError
from ..model import (
    Edge,
    EdgeKind,
    Event,
    Isolation,
    LifecycleHook,
    Occasion,
    SystemFields,
    SystemPatch,
)
from ..rules import check
from ..rules.tokens import TokenCounter, estimate_text
from ..rules.wording import a_kind, did_you_mean
from .content import Sanitizer

# Blocks and compaction are loaded by the sessions that have them: others do not pay for it.
if TYPE_CHECKING:
    from ..compaction.function import CompactCallable
    from ..context import BlockConfig

Listener = Callable[[Event], Awaitable[None] | None]
"""Called with each event, in the order of the changes, before the call that made it returns.

One that fails harms nothing.
"""
ErrorHandler = Callable[[Exception], Awaitable[None] | None]

OCCASIONS: tuple[str, ...] = get_args(Occasion)
BLOCK_SETTINGS = {"context", "searchable_history"}


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a session. Nothing of it is stored."""

    context: tuple[BlockConfig, ...] = ()
    cached_prompt: bool = True
    searchable_history: str | None = None
    compact_with: CompactCallable | None = None
    compact_after: int | None = None
    on_compaction_error: ErrorHandler | None = None
    listeners: tuple[Listener, ...] = ()
    sanitizers: tuple[Sanitizer, ...] = ()
    roles: frozenset[str] = frozenset()
    """Those that messages may have beside the usual ones."""
    hooks: tuple[LifecycleHook, ...] = ()
    isolation: Isolation = Isolation()
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
    sanitizers: tuple[Sanitizer, ...] | list[Sanitizer]
    roles: Collection[str]
    hooks: tuple[LifecycleHook, ...] | list[LifecycleHook]
    isolation: Isolation


def settings_of(fields: SettingFields, beside: Sequence[str] = ()) -> SessionSettings:
    """Check keywords and make settings of them; `beside` names those that the call itself has."""
    changes: dict[str, Any] = {**fields}
    refuse_unknown(changes, SettingFields, beside)
    for name in ("context", "listeners", "sanitizers", "hooks"):
        value = changes.get(name, ())
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{name} must be a list, not {a_kind(value)}", path=name)
        changes[name] = tuple(value)
    changes["roles"] = _roles(changes.get("roles", ()))
    return checked(SessionSettings(**changes))


def _roles(given: Any) -> frozenset[str]:
    if isinstance(given, str) or not isinstance(given, Collection):
        raise UsageError(f"roles must be a set of names, not {a_kind(given)}", path="roles")
    for role in given:
        check.name(role, "roles")
    return frozenset(given)


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
    for index, sanitizer in enumerate(settings.sanitizers):
        refuse_uncallable(sanitizer, f"sanitizers[{index}]")
    check.instance(settings.isolation, Isolation, "isolation")
    _check_hooks(settings.hooks)
    return settings


def _check_hooks(hooks: Sequence[LifecycleHook]) -> None:
    """Refuse hooks that are none, and two of one name, of which one would never be called."""
    known: set[tuple[str, str]] = set()
    for index, hook in enumerate(hooks):
        path = f"hooks[{index}]"
        check.instance(hook, LifecycleHook, path)
        refuse_uncallable(hook.call, path)
        check.name(hook.name, f"{path}.name")
        if hook.occasion not in OCCASIONS:
            raise UsageError(
                f"a hook is called on {', '.join(OCCASIONS)}, not on {hook.occasion!r}",
                path=f"{path}.occasion",
            )
        if (hook.occasion, hook.name) in known:
            raise UsageError(
                f"there are two hooks {hook.name!r} on {hook.occasion!r}: give another name",
                path=f"{path}.name",
            )
        known.add((hook.occasion, hook.name))


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


class RecordFields(TypedDict, total=False):
    """What of a session's record may be changed."""

    title: str | None
    state: str
    tags: list[str]
    attributes: dict[str, Any]
    budget: int | None
    model: str | None
    source: str | None
    end_reason: str | None


class RecordChanges(RecordFields, total=False):
    """What of a session's record may be changed once it is there."""

    merge: dict[str, Any]
    closed: bool
    system: SystemPatch
    active_us: int


class NewSessionFields(RecordFields, total=False):
    """What may be given to a new session by its manager; a parent may be its id alone."""

    kind: str
    system: SystemFields
    parent: Edge | str | None


def new_session_fields(fields: NewSessionFields, beside: Sequence[str]) -> dict[str, Any]:
    """Refuse unknown keywords, and make a parent's id an edge."""
    refuse_unknown(fields, NewSessionFields, beside)
    rest: dict[str, Any] = {**fields}
    if isinstance(rest.get("parent"), str):
        rest["parent"] = Edge(kind=EdgeKind.BRANCH, session=rest["parent"])
    return rest


def refuse_unknown(fields: Mapping[str, object], known: type, beside: Sequence[str] = ()) -> None:
    """Refuse keywords that a call does not have, where Python does not.

    `beside` names those that the call itself has.
    """
    names = [*beside, *known.__annotations__]
    for name in fields:
        if name not in names:
            advice = did_you_mean(name, names) or f": use {', '.join(names)}"
            raise UsageError(f"there is no keyword {name!r}{advice}", path=name)


class SessionFilters(TypedDict, total=False):
    """Which sessions to list; all that are given must match."""

    kind: str | None
    state: str | None
    tags: list[str]
    key: tuple[str, ...]
    title_prefix: str | None
    parent: str | None
    created_from: datetime | None
    created_until: datetime | None
    active_from: datetime | None
    active_until: datetime | None
    order: Literal["active", "created", "updated"]
    reverse: bool
    limit: int
    cursor: str | None


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

    def with_hook(
        self,
        call: Callable[[Any], Any],
        *,
        on: Occasion = "end",
        name: str | None = None,
        timeout_s: float = 30.0,
    ) -> Self:
        """Call a function when a session begins, is left, ends or is compacted; see `HookEvent`.

        Its success is noted under its name, which is the function's unless given.
        """
        check.seconds(timeout_s, "timeout_s")
        name = getattr(call, "__qualname__", type(call).__qualname__) if name is None else name
        hook = LifecycleHook(call=call, occasion=on, name=name, timeout_s=timeout_s)
        return self._set(hooks=(*self._setup.settings.hooks, hook))

    def with_roles(self, roles: Collection[str]) -> Self:
        """Let messages have these roles, too, beside the usual ones; they are not stored."""
        return self._set(roles=self._setup.settings.roles | _roles(roles))

    def with_sanitizer(self, sanitizer: Sanitizer) -> Self:
        """Show it each message before it is stored: it gives back what is stored, or raises."""
        return self._set(sanitizers=(*self._setup.settings.sanitizers, sanitizer))
