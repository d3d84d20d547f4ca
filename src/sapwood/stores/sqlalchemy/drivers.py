"""Where a driver has to be helped, or cannot be: with bytes, and to give up a silent server.

Some drivers give up by themselves; the others are told here. That is for engines of our own: a
network that is gone, or a server that hangs, does not cut a connection, and a caller would wait for
ever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from importlib import import_module
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import event
from sqlalchemy.engine import URL, Engine

from ...errors import StoreError

T = TypeVar("T")

CONNECT_TIMEOUT_S = 10
NO_ANSWER = "the server did not answer within {:g} seconds"
_LOST, _UNREACHABLE = 2013, 2003
_ASKING = ("query", "next_result", "commit", "rollback", "autocommit")
"""What asks the server, of a connection of aiomysql."""


# bytes


def help_driver(engine: Engine) -> None:
    """Let aiomysql send bytes: PyMySQL 1.2 took away the function that it does so with."""
    if engine.dialect.driver != "aiomysql":
        return
    module = import_module("aiomysql.connection")
    if not callable(getattr(module, "escape_bytes_prefixed", None)):
        escape = import_module("pymysql.converters").escape_bytes
        module.escape_bytes_prefixed = escape  # type: ignore[attr-defined]


def refuse_mode(driver: str, mode: str) -> None:
    """Refuse asyncmy where a backslash is a letter: it writes one before a quote in bytes.

    The quote would end the text, and what comes after it in a message be run as a statement.
    """
    if driver == "asyncmy" and "NO_BACKSLASH_ESCAPES" in mode:
        raise StoreError(
            "asyncmy cannot write bytes to a server whose sql_mode has NO_BACKSLASH_ESCAPES: "
            "use aiomysql, or another sql_mode"
        )


# silence


def patient_settings(url: URL, seconds: float | None) -> dict[str, Any]:
    """Return a connection's settings for how long it waits for an answer."""
    if seconds is None:
        return {}
    settings: dict[str, dict[str, Any]] = {
        "pymysql": {"read_timeout": seconds, "write_timeout": seconds},
        "asyncmy": {"read_timeout": seconds},
        "aiomysql": {"async_creator_fn": _patient_aiomysql(seconds)},
    }
    return settings.get(url.get_driver_name(), {})


def limit_waiting(engine: Engine, seconds: float | None) -> None:
    """Let an engine's connections wait for so long, where that is no setting."""
    if seconds is None or engine.dialect.driver not in ("psycopg", "psycopg_async"):
        return
    failure = engine.dialect.loaded_dbapi.OperationalError

    def limit(raw: Any, record: object) -> None:
        conn = getattr(raw, "driver_connection", raw)
        wait = conn.wait

        def give_up() -> Exception:
            conn.pgconn.finish()
            found: Exception = failure(NO_ANSWER.format(seconds))
            return found

        # The async twin gets back what it awaits.
        conn.wait = lambda steps, *args, **options: wait(
            _within(steps, seconds, give_up), *args, **options
        )

    event.listen(engine, "connect", limit)


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
        within = options.get("connect_timeout", CONNECT_TIMEOUT_S)
        conn = await _answer(import_module("aiomysql").connect(**options), within, _UNREACHABLE)
        for name in _ASKING:
            setattr(conn, name, _patient_call(conn, getattr(conn, name), seconds))
        return conn

    return connect


def _patient_call(conn: Any, call: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    async def patient(*args: Any, **options: Any) -> Any:
        return await _answer(call(*args, **options), seconds, _LOST, conn)

    return patient


async def _answer(asked: Awaitable[Any], seconds: float, code: int, conn: Any = None) -> Any:
    """Wait for a server's answer to aiomysql; close the connection that it does not come on."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            return await asked
    except TimeoutError as error:
        if conn is not None:
            conn.close()
        failure = import_module("aiomysql").OperationalError
        raise failure(code, NO_ANSWER.format(seconds)) from error
