"""A process that writes, and may be killed: `python writer.py url prefix session count how`.

With `how` of "die" it is gone right after its records are created, before anything is done beside
them; otherwise it goes on to the end. What was acknowledged is written to its output.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import Any

from sapwood.errors import AlreadyExistsError
from sapwood.model import NewMessage, NewSession, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.opensearch import OpenSearchStore
from sapwood.stores.recordlog._sync import logs

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def main() -> None:
    url, prefix, session, count, how = sys.argv[1:]
    if how == "die":
        logs.finish_leftovers = _die  # type: ignore[attr-defined]
    with OpenSearchStore(url, prefix=prefix, new_id=new_id) as store:
        with suppress(AlreadyExistsError):
            store.create_session("ada", NewSession(id=session))
        for n in range(int(count)):
            id = f"{how}-{n}"
            message = NewMessage(id=id, role="user", parts=[TextPart(text=str(n))])
            store.append("ada", session, [message])
            sys.stdout.write(f"{id}\n")
            sys.stdout.flush()


def _die(*args: Any) -> None:
    os.kill(os.getpid(), 9)


main()
