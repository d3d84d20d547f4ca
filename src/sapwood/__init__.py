"""sapwood: the session and memory layer for AI agents.

    with sapwood.open("sqlite:///agent.db", owner="ada") as sessions:
        chat = sessions.session("support")
        chat.append("user", "Where is my order?")
        chat.history().entries

Names are resolved when they are first used, so that importing sapwood costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from . import errors
    from ._open import open, open_async, open_store, open_store_async
    from .model import (
        ROOT,
        FilePart,
        History,
        Hit,
        Hits,
        Message,
        NewMessage,
        OtherPart,
        Overlay,
        ReasoningPart,
        Summary,
        TextPart,
        ToolCallPart,
        ToolResultPart,
    )
    from .session import AsyncSession, AsyncSessionManager, Session, SessionManager

__all__ = [
    "ROOT",
    "AsyncSession",
    "AsyncSessionManager",
    "FilePart",
    "History",
    "Hit",
    "Hits",
    "Message",
    "NewMessage",
    "OtherPart",
    "Overlay",
    "ReasoningPart",
    "Session",
    "SessionManager",
    "Summary",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "__version__",
    "errors",
    "open",
    "open_async",
    "open_store",
    "open_store_async",
]

_HOMES = {
    "open": "_open",
    "open_async": "_open",
    "open_store": "_open",
    "open_store_async": "_open",
    "Session": "session",
    "SessionManager": "session",
    "AsyncSession": "session",
    "AsyncSessionManager": "session",
}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
        from importlib import import_module

        if name == "errors":
            return import_module("sapwood.errors")
        value = getattr(import_module(f"sapwood.{_HOMES.get(name, 'model')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
