"""The twins have the same methods with the same signatures."""

from __future__ import annotations

import inspect

import pytest

import sapwood
from sapwood import event_loop, session, store
from sapwood.stores import memory, postgres, sqlite

NAMES = {"aclose": "close", "__aenter__": "__enter__", "__aexit__": "__exit__"}
TWINS = [
    (sapwood.AsyncSession, sapwood.Session),
    (sapwood.AsyncSessionManager, sapwood.SessionManager),
    (session.AsyncTurn, session.Turn),
    (session.AsyncTurnAnswer, session.TurnAnswer),
    (session.AsyncTurnStream, session.TurnStream),
    (store.AsyncStore, store.Store),
    (store.AsyncStoreAdmin, store.StoreAdmin),
    (memory.AsyncMemoryStore, memory.MemoryStore),
    (sqlite.AsyncSqliteStore, sqlite.SqliteStore),
    (postgres.AsyncPostgresStore, postgres.PostgresStore),
]


def surface(cls: type) -> dict[str, str]:
    """Give the public methods, and those of a context manager, with their signatures."""
    shown = {}
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_") and name not in (*NAMES, *NAMES.values()):
            continue
        if getattr(member, "__module__", "") == event_loop.__name__:
            continue  # what refuses to be the other twin
        text = str(inspect.signature(member)) if inspect.isfunction(member) else "-"
        text = text.replace("AsyncIterator", "Iterator").replace("Async", "")
        shown[NAMES.get(name, name)] = text
    return shown


@pytest.mark.parametrize(("source", "twin"), TWINS)
def test_twins_have_the_same_surface(source: type, twin: type) -> None:
    assert source.__name__ == f"Async{twin.__name__}"
    assert surface(source) == surface(twin)


def test_open_and_open_async_take_the_same() -> None:
    ours = inspect.signature(sapwood.open).parameters
    assert list(ours.values()) == list(inspect.signature(sapwood.open_async).parameters.values())
