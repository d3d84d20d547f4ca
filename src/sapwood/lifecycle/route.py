"""The route of a key: which session is current there, and which ones it left."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ..model import SessionKey, SessionRecord

MOST_LEFT = 16
"""How many sessions a route remembers that it left."""


class LeftSession(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session that a route left: in which of its lives, and why.

    `settled` says that it is known to be closed, so that nobody needs to look again.
    """

    session: str
    life: int = 0
    reason: str = "switch"
    settled: bool = False


class DueHooks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hooks that are still to be told of a switch: which session began, and which was left."""

    occasion: Literal["start", "switch"]
    session: str
    life: int = 0
    generation: int = 0
    reason: str | None = None
    previous: str | None = None


class Route(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which session is current at a key. `generation` counts the switches."""

    session: str | None = None
    generation: int = 0
    left: tuple[LeftSession, ...] = ()
    due: tuple[DueHooks, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Whether all that it left is known to be closed, and all hooks were told."""
        return not self.due and all(it.settled for it in self.left)

    def switched(
        self, to: str | None, leaving: LeftSession | None, due: tuple[DueHooks, ...] = ()
    ) -> Route:
        """Return the route after a switch."""
        left = self.left if leaving is None else (*self.left, leaving)
        return Route(
            session=to,
            generation=self.generation + 1,
            left=left[-MOST_LEFT:],
            due=(*self.due, *due)[-MOST_LEFT:],
        )

    def with_settled(self, left: Collection[LeftSession], told: Collection[DueHooks]) -> Route:
        """Return the route with some of what it left known to be closed, and some hooks told."""
        return replace(
            self,
            left=tuple(replace(it, settled=True) if it in left else it for it in self.left),
            due=tuple(it for it in self.due if it not in told),
        )


def key_of(record: SessionRecord) -> SessionKey | None:
    """Return the key that a session belongs to; None for one without a key."""
    parts = record.system.key
    return SessionKey(*parts) if len(parts) >= 3 and all(parts) else None


class SeenRoute(NamedTuple):
    """A route as it was read, and the record of its session; None when nothing is current."""

    key: SessionKey
    route: Route
    version: int
    current: SessionRecord | None

    @property
    def open(self) -> SessionRecord | None:
        """The current session, if it takes messages."""
        current = self.current
        return None if current is None or current.closed else current

    def has_known(self, session: str) -> bool:
        """Whether a session is current here, or was before."""
        left = (it.session for it in self.route.left)
        return self.route.session == session or session in left

    def leaving(self, reason: str) -> LeftSession | None:
        """Return what a switch away from here leaves, and why."""
        current = self.current
        if current is None:
            return None
        return LeftSession(
            session=current.id,
            life=current.system.life,
            reason=current.system.reason or "ended" if current.closed else reason,
            settled=current.closed,
        )
