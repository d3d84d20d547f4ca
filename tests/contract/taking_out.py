"""Removes a stored message behind a store's back, for the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from sapwood.stores.recordlog.record import decode_record
from sapwood.stores.recordlog.work import Append
from sapwood.testing import TakeOut

_DELETE = (
    "DELETE FROM {at}message WHERE id = '{id}' AND home = (SELECT s.home FROM {at}session s"
    " JOIN {at}owner o ON o.number = s.owner WHERE o.name = '{owner}' AND s.id = '{session}')"
)


def by_sql(run: Callable[[str], Any], at: str) -> TakeOut:
    """Delete a row; `at` is what the tables' names begin with."""

    def take_out(owner: str, session: str, id: str) -> None:
        run(_DELETE.format(at=at, owner=owner, session=session, id=id))

    return take_out


def from_a_file(path: Path) -> TakeOut:
    """Delete a row of a database of the SQLite store."""

    def run(statement: str) -> None:
        raw = apsw.Connection(str(path))
        raw.execute(statement)
        assert raw.changes() == 1
        raw.close()

    return by_sql(run, "")


def from_redis(client: Callable[[], Any], prefix: str) -> TakeOut:
    """Remove an entry of a list; ids are not used twice where that is tried."""

    def take_out(owner: str, session: str, id: str) -> None:
        raw = client()
        for key in list(raw.scan_iter(match=f"{prefix}:*:b:*", count=1_000)):
            for entry in raw.lrange(key, 0, -1):
                if entry.partition(b"\n")[0].endswith(b"\x1f" + id.encode()):
                    assert raw.lrem(key, 1, entry) == 1
                    return
        raise AssertionError(f"message {id!r} is not in any list")

    return take_out


def from_records(
    records: Callable[[], Iterator[tuple[Any, bytes]]], delete: Callable[[Any], Any]
) -> TakeOut:
    """Remove the record that a message was appended by; each has one of its own there."""

    def take_out(owner: str, session: str, id: str) -> None:
        for name, data in list(records()):
            if data and _appends(data, id):
                delete(name)
                return
        raise AssertionError(f"no record appends message {id!r}")

    return take_out


def _appends(data: bytes, id: str) -> bool:
    work = decode_record(data, "").work
    return isinstance(work, Append) and any(said.id == id for said in work.messages)
