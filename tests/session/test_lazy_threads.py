"""First writes of one lazy session, from several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import sapwood

THREADS = 6
ROUNDS = 20


def test_the_first_writes_of_several_threads_all_land(tmp_path: Path) -> None:
    with (
        sapwood.open(f"sqlite:///{tmp_path / 's.db'}") as sessions,
        ThreadPoolExecutor(THREADS) as threads,
    ):
        for n in range(ROUNDS):
            chat, begin = sessions.session(f"s{n}", lazy=True), Barrier(THREADS)

            def write(chat: sapwood.Session = chat, begin: Barrier = begin) -> None:
                begin.wait()
                chat.append("user", "hello")

            for done in [threads.submit(write) for _ in range(THREADS)]:
                done.result()
            assert chat.path_length() == THREADS
