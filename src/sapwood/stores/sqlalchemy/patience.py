"""Giving up a server that keeps silent. Some drivers do by themselves; the others are told here.

It is for engines of our own: a network that is gone, or a server that hangs, does not cut a
connection, and a caller would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import event
from sqlalchemy.engine import URL, Engine

T = TypeVar("T")

CONNECT_TIMEOUT_S = 10
NO_ANSWER = "the server did not answer within {:g} seconds"
_LOST, _UNREACHABLE = 2013, 2003
_ASKING = ("query", "next_result", "commit", "rollback", "autocommit")
"""What asks the server, of a connection of aiomysql."""


def patient_settings(url: URL, seconds: float | None) -> dict[str, Any]:
    """Give a connection's settings for how long it waits for an answer."""
    driver = url.get_driver_name()
    if seconds is None:
        return {}
    if driver == "pymysql":
        return {"read_timeout": seconds, "write_timeout": seconds}
    if driver == "asyncmy":
        return {"read_timeout": seconds}
    return {"async_creator_fn": _patient_aiomysql(seconds)} if driver == "aiomysql" else {}


def limit_waiting(engine: Engine, seconds: float | None) -> None:
    """Let an engine's connections wait for so long, where that is no setting."""
    if seconds is None or engine.dialect.driver not in ("psycopg", "psycopg_async"):
        return
    failure = engine.dialect.loaded_dbapi.OperationalError

    def limit(raw: Any, record: object) -> None:
        _limit_psycopg(getattr(raw, "driver_connection", raw), seconds, failure)

    event.listen(engine, "connect", limit)


def _limit_psycopg(conn: Any, seconds: float, failure: type[Exception]) -> None:
    wait = conn.wait

    def give_up() -> Exception:
        conn.pgconn.finish()
        return failure(NO_ANSWER.format(seconds))

    # The async twin gets back what it awaits.
    conn.wait = lambda steps, *args, **options: wait(
        _within(steps, seconds, give_up), *args, **options
    )


def _within(
    steps: Generator[int, int, T], seconds: float, give_up: Callable[[], Exception]
) -> Generator[int, int, T]:
    """Go through the steps of a driver's operation, and give up when it takes too long.

    The driver looks in from time to time while nothing comes, and then says that nothing is ready.
    """
    end = monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and monotonic() >= end:
                raise give_up()
            wanted = steps.send(ready)
    except StopIteration as done:
        found: T = done.value
        return found


def _patient_aiomysql(seconds: float) -> Callable[..., Any]:
    async def connect(**options: Any) -> Any:
        import asyncio

        aiomysql = import_module("aiomysql")
        within = options.get("connect_timeout", CONNECT_TIMEOUT_S)
        try:
            async with asyncio.timeout(within):
                conn = await aiomysql.connect(**options)
        except TimeoutError as error:
            text = NO_ANSWER.format(within)
            raise aiomysql.OperationalError(_UNREACHABLE, text) from error
        failure = aiomysql.OperationalError(_LOST, NO_ANSWER.format(seconds))
        for name in _ASKING:
            setattr(conn, name, _patient_call(conn, getattr(conn, name), seconds, failure))
        return conn

    return connect


def _patient_call(
    conn: Any, call: Callable[..., Any], seconds: float, failure: Exception
) -> Callable[..., Any]:
    async def patient(*args: Any, **options: Any) -> Any:
        import asyncio

        try:
            async with asyncio.timeout(seconds):
                return await call(*args, **options)
        except TimeoutError as error:
            conn.close()
            raise type(failure)(*failure.args) from error

    return patient
