"""A table of sessions."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import SessionRecord
from .output import Output
from .records import local
from .table import Column, Table, TableRow

COLUMNS = (
    Column("SESSION", least=8),
    Column("TITLE", least=6, goes=3),
    Column("MESSAGES", is_number=True, goes=4),
    Column("TOKENS", is_number=True, goes=2),
    Column("ACTIVE", goes=1),
)


class SessionTable(Table):
    """Rows of sessions under one heading; the first page decides about the widths."""

    def __init__(self, output: Output) -> None:
        super().__init__(output, COLUMNS)

    def write_page(self, records: Sequence[SessionRecord]) -> None:
        """Write a page of sessions."""
        self.write([_row(record) for record in records])


def _row(record: SessionRecord) -> TableRow:
    return (
        record.id,
        record.title or "",
        str(record.messages),
        str(record.context_tokens),
        local(record.active_at),
    )
