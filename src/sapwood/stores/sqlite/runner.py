"""How calls reach the database from plain threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..embedded._sync.runner import Runner
from ..embedded.unit import Unit
from .database import Database

T = TypeVar("T")


class SqliteRunner(Runner):
    """Runs units of work in the calling thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, work: Callable[[Unit], T]) -> T:
        return self._database.read(work)

    def glance(self, work: Callable[[Unit], T]) -> T:
        return self._database.glance(work)

    def write(self, work: Callable[[Unit], T]) -> T:
        return self._database.write(work)

    def settle(self) -> None:
        self._database.settle()

    def migrate(self) -> int:
        return self._database.migrate()

    def close(self) -> None:
        self._database.close()
