"""Short ways to open a store on a server, and to write to it."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from servers.proxy import Proxy
from sqlalchemy import event

from sapwood.model import NewMessage, NewSession, Read, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore

from ..tried import Store

ADA = "ada"


def _clock() -> int:
    return time.time_ns() // 1000


new_id = IdMaker(_clock, os.urandom)


def _with(url: str, prefix: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}prefix={prefix}"


class Place(NamedTuple):
    """A database that the store is tried on."""

    name: Store
    url: str

    def with_prefix(self, prefix: str) -> str:
        return _with(self.url, prefix)


def open_store(url: str, prefix: str, **options: Any) -> SqlAlchemyStore:
    return SqlAlchemyStore.from_url(_with(url, prefix), new_id=new_id, **options)


def open_async_store(url: str, prefix: str, **options: Any) -> AsyncSqlAlchemyStore:
    return AsyncSqlAlchemyStore.from_url(_with(url, prefix), new_id=new_id, **options)


def say(id: str | None, text: str | None = None) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text or id or "hello")])


def make_session(store: SqlAlchemyStore, session: str = "s") -> None:
    store.create_session(ADA, NewSession(id=session))


def ids_in(store: SqlAlchemyStore, session: str = "s") -> list[str]:
    return [it.id for it in store.read(ADA, session, Read()).messages_only]


def lose_commits(store: Any, proxy: Proxy, kept_bytes: int = 0) -> list[object]:
    """Lose the answer to the next commit, or let it break off."""
    lost: list[object] = []

    def lose(conn: object) -> None:
        if not lost:
            proxy.truncate_next_answer(kept_bytes)
            lost.append(conn)

    event.listen(store._runner.here()._engine, "commit", lose)
    return lost
