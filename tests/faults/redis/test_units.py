"""Units of work, fences and closing between processes, on Redis."""

from __future__ import annotations

import pytest
from servers.redis import RedisServer

from ..units import UnitFaults


class TestOnRedis(UnitFaults):
    store_name = "Redis"

    @pytest.fixture
    def url(self, server: RedisServer, prefix: str) -> str:
        return server.url(parameters=f"?prefix={prefix}")
