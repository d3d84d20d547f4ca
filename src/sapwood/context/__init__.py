"""Context blocks: labelled pieces of the system prompt, and where their text comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rules.hidden_characters import find_hidden
from ..rules.prompt import BlockKind
from ._sync.bound_block import StoreBlock
from ._sync.context import Context
from ._sync.entries import StoreEntries
from ._sync.searchable_history import SearchableHistory
from ._sync.tools import ContextTools
from .block import Block, BlockVersion
from .config import BlockConfig, BlockScope, BlockShape
from .entry import BlockEntry, LoadedKey, elide_unloaded
from .model_tools import to_anthropic, to_mcp, to_openai_chat, to_openai_responses
from .prompt_document import CacheReport, PromptChange
from .provider import (
    CallableProvider,
    FileProvider,
    LoadableProvider,
    ReadProvider,
    SearchableProvider,
    TextProvider,
    WritableProvider,
    is_keyed,
    is_loadable,
    is_searchable,
    is_writable,
    kind_of,
)
from .skills import SkillsFolder

if TYPE_CHECKING:
    from ._async.bound_block import AsyncStoreBlock
    from ._async.context import AsyncContext
    from ._async.entries import AsyncStoreEntries
    from ._async.searchable_history import AsyncSearchableHistory
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
    "BlockKind",
    "BlockScope",
    "BlockShape",
    "BlockVersion",
    "CacheReport",
    "CallableProvider",
    "Context",
    "ContextTools",
    "FileProvider",
    "LoadableProvider",
    "LoadedKey",
    "PromptChange",
    "ReadProvider",
    "SearchableHistory",
    "SearchableProvider",
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

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ..lazy_names import lazy_names

    # A program without a loop does not pay for it.
    __getattr__ = lazy_names(
        __name__,
        {
            "AsyncContext": "._async.context",
            "AsyncContextTools": "._async.tools",
            "AsyncSearchableHistory": "._async.searchable_history",
            "AsyncStoreBlock": "._async.bound_block",
            "AsyncStoreEntries": "._async.entries",
        },
    )
