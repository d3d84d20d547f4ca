"""A process that is killed: `python client.py url prefix what number`.

It writes what it was told before it ends, one id on a line.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from sapwood.errors import AlreadyExistsError
from sapwood.model import ForkPoint, NewMessage, NewSession, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.redis import RedisStore
from sapwood.stores.redis._sync.client import RedisClient

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def die_after(names: set[str]) -> None:
    """End this process, without any goodbye, when one of these scripts was done."""
    run_script = RedisClient.run_script

    def last(self, name, keys, *args):  # type: ignore[no-untyped-def]
        answer = run_script(self, name, keys, *args)
        if name in names:
            os._exit(9)
        return answer

    RedisClient.run_script = last  # type: ignore[method-assign]


def write(store: RedisStore, number: str) -> None:
    n = 0
    while True:
        message = NewMessage(id=f"p{number}-{n}", role="user", parts=[TextPart(text=f"{n}")])
        store.append("ada", "s", [message])
        sys.stdout.write(f"{message.id}\n")
        sys.stdout.flush()
        n += 1


def main() -> None:
    url, prefix, what, number = sys.argv[1:]
    with RedisStore(url, prefix=prefix, new_id=new_id) as store:
        store.find_session("ada", "s")
        match what:
            case "write":
                with suppress(AlreadyExistsError):
                    store.create_session("ada", NewSession(id="s"))
                write(store, number)
            case "claim":
                die_after({"claim_name"})
                store.create_session("ada", NewSession(id="new"))
            case "detach":
                die_after({"claim_name"})
                point = ForkPoint(session="s", detach=True)
                store.create_session("ada", NewSession(id="new", fork=point))
            case "copy":
                die_after({"mark_tree"})
                point = ForkPoint(session="s", detach=True)
                store.create_session("ada", NewSession(id="new", fork=point))
            case "create":
                die_after({"apply"})
                store.create_session("ada", NewSession(id="new"))
            case "delete":
                die_after({"apply_freeing"})
                store.delete_session("ada", "s")
            case "publish":
                die_after({"publish_changes"})
                store.changes("ada")


main()
