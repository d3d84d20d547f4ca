"""What the record log asks of OpenSearch: each document has an outcome of its own."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from itertools import count

import pytest
from servers import opensearch

from sapwood.errors import StoreError
from sapwood.rules.ids import IdMaker
from sapwood.stores.opensearch import AsyncOpenSearchStore
from sapwood.stores.recordlog._async.driver import AsyncLogDriver
from sapwood.stores.recordlog.log_documents import LogDocument, LogKind, key_of

pytestmark = pytest.mark.usefixtures("opensearch_url")

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
numbers = count()


@pytest.fixture
async def log() -> AsyncIterator[AsyncLogDriver]:
    prefix = f"{opensearch.prefix()}-log{next(numbers)}"
    async with AsyncOpenSearchStore(opensearch.shared_url(), prefix=prefix, new_id=new_id) as store:
        await store.admin.migrate()
        yield store._store._store._runner.here().logs.driver  # type: ignore[attr-defined]
    opensearch.admin().indices.delete(index=f"{prefix}-*")


def record(n: int, data: bytes, name: str | None = None) -> LogDocument:
    id = f"t/l/{n:012d}" if name is None else name
    return LogDocument(kind=LogKind.RECORD, id=id, shard="t", data=data, log="l", n=n)


async def test_rule_01_of_two_records_of_one_name_that_go_out_together_one_is_created(
    log: AsyncLogDriver,
) -> None:
    both = [record(1, b"one"), record(1, b"two")]
    told = await asyncio.gather(*(log.create(it) for it in both))
    assert sorted(told) == [False, True]
    [found] = await log.get([key_of(both[0])])
    assert found is not None
    assert found.data == both[told.index(True)].data


async def test_a_record_that_is_refused_does_not_fail_those_that_go_out_with_it(
    log: AsyncLogDriver,
) -> None:
    # No number of the index is so large.
    bad = record(1 << 70, b"bad", "t/l/bad")
    sent = [record(1, b"one"), bad, record(2, b"two")]
    told = await asyncio.gather(*(log.create(it) for it in sent), return_exceptions=True)
    assert [told[0], told[2]] == [True, True]
    assert isinstance(told[1], StoreError)


async def test_what_was_emptied_is_not_put_back(log: AsyncLogDriver) -> None:
    document = record(1, b"words")
    await log.create(document)
    await log.blank([key_of(document)])
    await log.put([document])
    [found] = await log.get([key_of(document)])
    assert found is not None
    assert found.data == b""
