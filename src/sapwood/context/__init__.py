"""Context blocks: labelled pieces of the system prompt, and where their text comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rules.hidden import find_hidden
from ..rules.prompt import Kind
from ._sync.context import Context
from ._sync.entries import StoreEntries
from ._sync.history import SearchableHistory
from ._sync.store_block import StoreBlock
from ._sync.tools import ContextTools
from .block import Block, BlockVersion
from .config import BlockConfig, Scope, Shape
from .elide import elide_unloaded
from .entry import BlockEntry
from .frozen import CacheReport, PromptChange
from .loaded import LoadedKey
from .provider import (
    LoadableProvider,
    ReadProvider,
    SearchableProvider,
    WritableProvider,
    is_keyed,
    is_loadable,
    is_searchable,
    is_writable,
    kind_of,
)
from .providers import CallableProvider, FileProvider, TextProvider
from .shapes import to_anthropic, to_mcp, to_openai_chat, to_openai_responses
from .skills import SkillsFolder

if TYPE_CHECKING:
    from ._async.context import AsyncContext
    from ._async.entries import AsyncStoreEntries
    from ._async.history import AsyncSearchableHistory
    from ._async.store_block import AsyncStoreBlock
    from ._async.tools import AsyncContextTools

__all__ = [
    "AsyncContext",
    "AsyncContextTools",
    "AsyncSearchableHistory",
    "AsyncStoreBlock",
    "AsyncStoreEntries",
    "Block",
    "BlockConfig",
    "BlockEntry",
    "BlockVersion",
    "CacheReport",
    "CallableProvider",
    "Context",
    "ContextTools",
    "FileProvider",
    "Kind",
    "LoadableProvider",
    "LoadedKey",
    "PromptChange",
    "ReadProvider",
    "Scope",
    "SearchableHistory",
    "SearchableProvider",
    "Shape",
    "SkillsFolder",
    "StoreBlock",
    "StoreEntries",
    "TextProvider",
    "WritableProvider",
    "elide_unloaded",
    "find_hidden",
    "is_keyed",
    "is_loadable",
    "is_searchable",
    "is_writable",
    "kind_of",
    "to_anthropic",
    "to_mcp",
    "to_openai_chat",
    "to_openai_responses",
]

_HOMES = {
    "AsyncContext": "context",
    "AsyncContextTools": "tools",
    "AsyncSearchableHistory": "history",
    "AsyncStoreBlock": "store_block",
    "AsyncStoreEntries": "entries",
}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: a program without a loop does not pay for it.
        if name in _HOMES:
            from importlib import import_module

            value = getattr(import_module(f"._async.{_HOMES[name]}", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
