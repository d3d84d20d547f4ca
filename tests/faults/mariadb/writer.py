"""One of several processes that start at once: `python writer.py url messages number`.

It tells of each message when it was told that it is written.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from sapwood.errors import AlreadyExistsError, StoreError
from sapwood.model import NewMessage, NewSession, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlalchemy import SqlAlchemyStore

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def append(store: SqlAlchemyStore, id: str) -> None:
    while True:
        try:
            store.append("ada", "s", [NewMessage(id=id, role="user", parts=[TextPart(text=id)])])
        except StoreError as error:
            if not error.retryable:
                raise
            time.sleep(0.05)
        else:
            return


def main() -> None:
    url, messages, number = sys.argv[1:]
    with SqlAlchemyStore.from_url(url, new_id=new_id) as store:
        with suppress(AlreadyExistsError):
            store.create_session("ada", NewSession(id="s"))
        for n in range(int(messages)):
            append(store, f"p{number}-{n}")
            sys.stdout.write(f"p{number}-{n}\n")
            sys.stdout.flush()
    sys.stdout.write("done\n")


main()
