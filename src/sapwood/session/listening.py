"""Listeners: what users supply to be told of changes. One that fails harms nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..model import Event

Listener = Callable[[Event], Awaitable[None] | None]
"""Called with each event, in the order of the changes, before the call that made it returns."""
