"""Units of work, fences and closing between processes, on SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from .units import UnitFaults


class TestOnSqlite(UnitFaults):
    store_name = "SQLite"

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path / 'units.db'}"
