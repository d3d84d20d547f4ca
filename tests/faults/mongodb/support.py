"""Short ways to open a store on a server, and to write to it."""

from __future__ import annotations

import os
import time
from typing import Any

from sapwood.model import NewMessage, NewSession, Read, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.mongodb import AsyncMongoStore, MongoStore

ADA = "ada"


def _clock() -> int:
    return time.time_ns() // 1000


new_id = IdMaker(_clock, os.urandom)


def open_store(url: str, database: str, **options: Any) -> MongoStore:
    return MongoStore(url, database=database, new_id=new_id, **options)


def open_async_store(url: str, database: str, **options: Any) -> AsyncMongoStore:
    return AsyncMongoStore(url, database=database, new_id=new_id, **options)


def say(id: str | None, text: str | None = None) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text or id or "hello")])


def make_session(store: MongoStore, session: str = "s") -> None:
    store.create_session(ADA, NewSession(id=session))


def ids_in(store: MongoStore, session: str = "s") -> list[str]:
    return [it.id for it in store.read(ADA, session, Read()).messages_only]
