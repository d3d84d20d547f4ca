"""A cursor of the feed never passes a change that is committed later."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import psycopg
import pytest
from servers.postgres import PostgresServer

from sapwood.errors import NotFoundError, StoreBusyError
from sapwood.stores.searched._sync.checker import Checker
from sapwood.stores.searched._sync.feeder import Feeder
from sapwood.stores.searched._sync.source import Source
from sapwood.stores.searched.entry import FeedMark
from sapwood.testing.makers import ids_told

from .support import ADA, make_session, open_store, say

_APPEND = """
SELECT {s}.append(%s, 'slow', 1, '{}', NULL, false, NULL, false, '{late}', '{user}', '{1}',
    '{NULL}', ARRAY['{"parts":[]}'::bytea], '{""}')
"""


def test_a_change_that_is_committed_late_is_not_passed_over(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store, "slow")
        make_session(store, "quick")
        store.append(ADA, "slow", [say("m0")])
        with psycopg.connect(server.url()) as raw:
            # What an append does, but for the commit.
            raw.execute(_APPEND.replace("{s}", schema).encode(), (ADA,))
            store.append(ADA, "quick", [say("early")])
            page = store.changes(ADA)
            assert ids_told(page) == ["m0"]
            assert page.more
            raw.commit()
        rest = store.changes(ADA, after=page.cursor)
        assert ids_told(rest) == ["late", "early"]
        assert not rest.more


def test_a_reader_that_follows_writers_sees_each_change_once(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        for writer in range(4):
            make_session(store, f"s{writer}")

        def write(writer: int) -> None:
            for n in range(50):
                store.append(ADA, f"s{writer}", [say(f"w{writer}-{n}")])

        threads = [threading.Thread(target=write, args=(w,)) for w in range(4)]
        for thread in threads:
            thread.start()
        seen: list[str | None] = []
        cursor = ""
        while any(thread.is_alive() for thread in threads) or len(seen) < 200:
            page = store.changes(ADA, after=cursor, limit=7)
            seen += ids_told(page)
            cursor = page.cursor
        for thread in threads:
            thread.join()
        assert len(seen) == len(set(seen)) == 200
        for writer in range(4):
            mine = [id for id in seen if id and id.startswith(f"w{writer}-")]
            assert mine == [f"w{writer}-{n}" for n in range(50)]


def test_an_index_is_built_while_an_open_transaction_holds_the_feed_back(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store, psycopg.connect(server.url()) as raw:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        raw.execute("CREATE TEMPORARY TABLE held (n int)")
        store.append(ADA, "s", [say("m2")])
        index = Mock()
        index.list_page.return_value = index.list_summarised.return_value = []
        index.find_summaries.return_value = {}
        with ThreadPoolExecutor(1) as pool:
            built = pool.submit(Feeder(store, index, Source(store)).build, ADA, None)
            try:
                assert built.result(10)
            finally:
                raw.rollback()
        rest = store.changes(ADA, after=index.put_mark.call_args[0][1])
        assert "m2" in ids_told(rest)


def test_an_index_is_not_checked_for_ever_while_an_open_transaction_holds_the_feed_back(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store, psycopg.connect(server.url()) as raw:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        raw.execute("CREATE TEMPORARY TABLE held (n int)")
        store.append(ADA, "s", [say("m2")])
        index = Mock()
        index.list_owners.return_value = [ADA]
        index.find_mark.return_value = FeedMark(cursor="", token=None)
        with ThreadPoolExecutor(1) as pool:
            checked = pool.submit(Checker(store, index).check)
            try:
                with pytest.raises(StoreBusyError, match="held back"):
                    checked.result(30)
            finally:
                raw.rollback()


AHEAD = 1_000_000


def restore_into_another(url: str, schema: str) -> None:
    """Make it so that all was written on a server that had come further in its transactions."""
    with psycopg.connect(url, autocommit=True) as raw:
        for text in (
            f"UPDATE {schema}.change SET xid = xid + {AHEAD}",
            f"UPDATE {schema}.reader SET xid = xid + {AHEAD}",
            f"UPDATE {schema}.owner SET trimmed_xid = {AHEAD}, trimmed_seq = 1",
        ):
            raw.execute(text.encode())


def test_a_cursor_of_another_server_is_refused_and_not_followed_past_what_is_new(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        xid, _, rest = store.changes(ADA, reader="index").cursor.partition(".")
        restore_into_another(server.url(), schema)
        store.append(ADA, "s", [say("m2")])
        with pytest.raises(NotFoundError):
            store.changes(ADA, after=f"{int(xid) + AHEAD}.{rest}")


def test_after_a_dump_was_restored_a_reader_that_begins_anew_comes_to_the_end(
    server: PostgresServer, schema: str
) -> None:
    with open_store(server.url(), schema) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        restore_into_another(server.url(), schema)
        store.append(ADA, "s", [say("m2")])
        page = store.changes(ADA)
        assert ids_told(page) == ["m2"]
        assert not page.more
        store.append(ADA, "s", [say("m3")])
        store.finish_deletions()
        page = store.changes(ADA, after=page.cursor, reader="index")
        assert ids_told(page) == ["m3"]
        assert not page.more
