"""The servers that are measured, as they are when nobody changes their durability."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from place import Place, Running


def _postgres() -> Running:
    from servers.postgres import PostgresServer

    return PostgresServer()


def _raw(module: str, name: str) -> Callable[[str], Any]:
    return lambda url: getattr(import_module(module), name)(url)


PLACES = [
    Place(
        name="PostgreSQL",
        start=_postgres,
        raw=_raw("raw_postgres", "RawPostgres"),
        append_bar=1.5,
        peers=("PostgresSaver", "AlchemySessions"),
    ),
]
