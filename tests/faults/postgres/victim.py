"""A client that is killed: `python victim.py url schema append|delete`.

`append` writes until it is killed, and tells each id once it was acknowledged. `delete` deletes a
session and dies when that is committed, before the rows are swept.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from sapwood.model import NewMessage, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.postgres import PostgresStore

new_id = IdMaker(lambda: 0, os.urandom)


def append(store: PostgresStore, run: str) -> None:
    for n in count():
        text = [TextPart(text=f"{n}")]
        message = NewMessage(id=f"{run}-{n}", role="user", parts=[*text])
        sys.stdout.write(f"begin {message.id}\n")
        sys.stdout.flush()
        store.append("ada", "s", [message])
        sys.stdout.write(f"done {message.id}\n")
        sys.stdout.flush()


def delete(store: PostgresStore) -> None:
    store._runner.here()._sweep_some = lambda: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign, assignment]
    store.delete_session("ada", "s")


def main() -> None:
    url, schema, work, *run = sys.argv[1:]
    with PostgresStore(url, schema=schema, new_id=new_id) as store:
        append(store, *run) if work == "append" else delete(store)


main()
