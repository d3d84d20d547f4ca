"""Short ways to open a file with an index attached, to write to it and to search it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from sapwood.model import NewMessage, NewSession, Search, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.opensearch import AsyncOpenSearchIndex, OpenSearchIndex
from sapwood.stores.searched import AsyncSearchedStore, SearchedStore
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore

ADA = "ada"


def clock() -> int:
    return time.time_ns() // 1000


new_id = IdMaker(clock, os.urandom)


def open_store(folder: Path, url: str, prefix: str, **options: Any) -> SearchedStore:
    store = SqliteStore(folder / "s.db", clock=clock, new_id=new_id)
    return SearchedStore(store, OpenSearchIndex(url, prefix=prefix), **options)


def open_async_store(folder: Path, url: str, prefix: str) -> AsyncSearchedStore:
    store = AsyncSqliteStore(folder / "s.db", clock=clock, new_id=new_id)
    return AsyncSearchedStore(store, AsyncOpenSearchIndex(url, prefix=prefix))


def say(id: str, text: str) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text)])


def tell(store: Any, session: str, *ids: str, text: str = "lighthouse") -> None:
    if store.find_session(ADA, session) is None:
        store.create_session(ADA, NewSession(id=session))
    store.append(ADA, session, [say(id, text) for id in ids])


def found(store: Any, text: str = "lighthouse") -> list[str]:
    hits = store.search(ADA, Search(text=text, limit=1_000)).hits
    return sorted(f"{hit.session}/{hit.entry.id}" for hit in hits)
