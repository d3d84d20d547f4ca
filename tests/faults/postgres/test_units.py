"""Units of work, fences and closing between processes, on PostgreSQL."""

from __future__ import annotations

import pytest
from servers.postgres import PostgresServer

from ..units import UnitFaults


class TestOnPostgres(UnitFaults):
    store_name = "PostgreSQL"

    @pytest.fixture
    def url(self, server: PostgresServer, schema: str) -> str:
        return f"{server.url()}?schema={schema}"
