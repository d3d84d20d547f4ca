"""What the statements of every subject stand on: the connection of one unit of work."""

from __future__ import annotations

from abc import ABC
from typing import Generic, TypeVar

T = TypeVar("T")


class SubjectStatements(ABC, Generic[T]):
    """The statements of one subject, on a store's own kind of connection."""

    def __init__(self, tx: T) -> None:
        self._tx = tx
