"""One of several processes that start at once: `python writer.py url schema messages number`."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from sapwood.errors import AlreadyExistsError
from sapwood.model import NewMessage, NewSession, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.postgres import PostgresStore

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def main() -> None:
    url, schema, messages, number = sys.argv[1:]
    with PostgresStore(url, schema=schema, new_id=new_id) as store:
        with suppress(AlreadyExistsError):
            store.create_session("ada", NewSession(id="s"))
        for n in range(int(messages)):
            text = [TextPart(text=f"{n}")]
            message = NewMessage(id=f"p{number}-{n}", role="user", parts=[*text])
            store.append("ada", "s", [message])
    sys.stdout.write("done\n")


main()
