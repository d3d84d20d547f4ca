"""The servers that are measured, as durable as they are by default or by their documentation."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from server_kind import Running, ServerKind


def _postgres() -> Running:
    from servers.postgres import PostgresServer

    return PostgresServer()


def _mariadb() -> Running:
    from servers.mariadb import MariaDbServer

    return MariaDbServer()


def _redis() -> Running:
    from servers.redis import DURABLE, RedisServer

    return RedisServer(*DURABLE)


def _ferretdb() -> Running:
    from servers.mongodb import FerretServer

    return FerretServer()


def _opensearch() -> Running:
    from servers.opensearch import OpenSearchNode

    node = OpenSearchNode()
    node.start()
    return node


def _raw(module: str, name: str) -> Callable[[str], Any]:
    return lambda url: getattr(import_module(module), name)(url)


def _over_http(url: str) -> str:
    return url.replace("opensearch://", "http://")


def _through_sqlalchemy(url: str) -> str:
    return f"sqlalchemy+{url}"


def _in_database(url: str) -> str:
    return f"{url.rstrip('/')}/bench"


SERVER_KINDS = [
    ServerKind(
        name="PostgreSQL",
        start=_postgres,
        raw=_raw("raw_postgres", "RawPostgres"),
        append_bar=1.5,
        peers=("PostgresSaver", "AlchemySessions"),
    ),
    ServerKind(
        name="MariaDB, SQLAlchemy",
        start=_mariadb,
        raw=_raw("raw_sqlalchemy", "RawSqlAlchemy"),
        append_bar=1.5,
    ),
    ServerKind(
        name="PostgreSQL, SQLAlchemy",
        start=_postgres,
        raw=_raw("raw_sqlalchemy", "RawSqlAlchemyOnPostgres"),
        url=_through_sqlalchemy,
        append_bar=1.5,
    ),
    ServerKind(
        name="Redis",
        start=_redis,
        raw=_raw("raw_redis", "RawRedis"),
        append_bar=2.2,
        peers=("RedisSessions",),
    ),
    ServerKind(
        name="MongoDB (FerretDB)",
        start=_ferretdb,
        raw=_raw("raw_mongodb", "RawMongo"),
        url=_in_database,
        append_bar=1.3,
        # It reads without an index: a longer session would take minutes to be looked through.
        long=10_000,
        pace=0.3,
        looks_up=False,
    ),
    ServerKind(
        name="OpenSearch",
        start=_opensearch,
        raw=_raw("raw_opensearch", "RawOpenSearch"),
        raw_url=_over_http,
        append_bar=1.3,
        deep=10_000,
        pace=0.3,
        looks_up=False,
    ),
]
