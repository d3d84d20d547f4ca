"""Where a driver has to be helped, or cannot be."""

from __future__ import annotations

from importlib import import_module

from sqlalchemy.engine import Engine

from ...errors import StoreError


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
