"""A client that deletes a session and is killed: `python victim.py url`.

It dies when the deletion is committed, before the rows are swept.
"""

from __future__ import annotations

import os
import signal
import sys

from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlalchemy import SqlAlchemyStore


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    with SqlAlchemyStore.from_url(sys.argv[1], new_id=IdMaker(lambda: 0, os.urandom)) as store:
        store._runner.here()._sweep_some = _die  # type: ignore[method-assign]
        store.delete_session("ada", "s")


main()
