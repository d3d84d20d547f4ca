"""Client processes that are killed: in the middle of writes, and between a commit and its sweep."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tier import often

from sapwood.errors import NotFoundError
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.testing.makers import fork_of

from ..tried import tried
from .support import ADA, Place, ids_in, make_session, open_store, say

WRITER = Path(__file__).with_name("writer.py")
VICTIM = Path(__file__).with_name("victim.py")
ROUNDS = often(1, 3)


def kill_a_writer(url: str, number: int) -> list[str]:
    """Let a process write, and kill it; give all that it told of."""
    command = [sys.executable, str(WRITER), url, "100000", str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [process.stdout.readline().strip() for _ in range(20 + 7 * number)]
        process.kill()
        # What it told of last is what may be lost.
        return [*first, *process.stdout.read().split()]


@pytest.mark.fault
def test_rule_01_what_killed_writers_told_of_is_there_and_a_retry_gives_one(
    place: Place, prefix: str
) -> None:
    all_told = [kill_a_writer(place.with_prefix(prefix), number) for number in range(ROUNDS)]
    tried(place.name, "client killed in the middle of writes", ROUNDS)
    with open_store(place.url, prefix) as store:
        there = ids_in(store)
        assert len(there) == len(set(there))
        for number, told in enumerate(all_told):
            written = [id for id in there if id.startswith(f"p{number}-")]
            begun = f"p{number}-{len(told)}"
            # The last one may have been written without its process hearing of it.
            assert written in (told, [*told, begun])
            for id in (told[-1], begun):
                store.append(ADA, "s", [say(id)])
            written = [id for id in ids_in(store) if id.startswith(f"p{number}-")]
            assert written == [*told, begun]
        assert store.admin.check() == []


def messages_left(store: SqlAlchemyStore) -> int:
    """Count the rows of messages, whoever sees them."""
    table = store._runner.here()._worker._tables.message
    with store._runner.here()._engine.connect() as conn:
        return conn.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.mark.fault
def test_what_a_client_left_when_it_was_killed_after_a_commit_is_done_by_the_next(
    place: Place, prefix: str
) -> None:
    with open_store(place.url, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say(f"m{n}") for n in range(20)])
        store.create_session(ADA, fork_of("s", "m4"))
        died = subprocess.run([sys.executable, str(VICTIM), place.with_prefix(prefix)], check=False)
        assert died.returncode == -signal.SIGKILL
        with pytest.raises(NotFoundError):
            ids_in(store)
        assert messages_left(store) == 20
        assert store.admin.check() == []
        store.finish_deletions()
        assert messages_left(store) == 5
        assert ids_in(store, "fork") == [f"m{n}" for n in range(5)]
        assert store.admin.check() == []
    tried(place.name, "client killed between commit and apply")
