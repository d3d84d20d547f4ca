"""Where a driver has to be helped."""

from __future__ import annotations

from importlib import import_module

from sqlalchemy.engine import Engine


def help_driver(engine: Engine) -> None:
    """Let aiomysql send bytes: PyMySQL 1.2 took away the function that it does so with."""
    if engine.dialect.driver != "aiomysql":
        return
    module = import_module("aiomysql.connection")
    if not callable(getattr(module, "escape_bytes_prefixed", None)):
        escape = import_module("pymysql.converters").escape_bytes
        module.escape_bytes_prefixed = escape  # type: ignore[attr-defined]
