"""A cursor of the feed never passes a change that is committed later."""

from __future__ import annotations

import threading

import psycopg
from servers.postgres import PostgresServer

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
            assert [change.message for change in page.changes] == ["m0"]
            assert page.more
            raw.commit()
        rest = store.changes(ADA, after=page.cursor)
        assert [change.message for change in rest.changes] == ["late", "early"]
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
            seen += [change.message for change in page.changes]
            cursor = page.cursor
        for thread in threads:
            thread.join()
        assert len(seen) == len(set(seen)) == 200
        for writer in range(4):
            mine = [id for id in seen if id and id.startswith(f"w{writer}-")]
            assert mine == [f"w{writer}-{n}" for n in range(50)]
