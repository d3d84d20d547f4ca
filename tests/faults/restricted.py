"""What a user who may not write can do: run as a process of its own, which gives up its rights.

`python restricted.py file` tries calls on a database, and prints a JSON object: for each call
"ok", or the error's class, retryability and text.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.support import ADA, make_session, open_store, say
from sapwood.model import Read, SessionPatch
from sapwood.stores.sqlite import migrate

NOBODY = 65534

CALLS: dict[str, Callable[[Any], object]] = {
    "read": lambda store: store.read(ADA, "s", Read()),
    "find_session": lambda store: store.find_session(ADA, "s"),
    "check": lambda store: store.admin.check(),
    "health": lambda store: store.admin.health(),
    "append": lambda store: store.append(ADA, "s", [say("new")]),
    "create_session": lambda store: make_session(store, "t"),
    "update_session": lambda store: store.update_session(ADA, "s", SessionPatch(title="t")),
    "delete_session": lambda store: store.delete_session(ADA, "s"),
    "put_document": lambda store: store.put_document(ADA, "k", b"v"),
    "finish_deletions": lambda store: store.finish_deletions(),
    "close": lambda store: store.close(),
}


def give_up_rights() -> None:
    """Become nobody; who is not root has no rights to give up."""
    # The package itself may lie where nobody can read it.
    steps = migrate.packaged_steps()
    migrate.packaged_steps = lambda: steps
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def tried(call: Callable[[Any], object], store: Any) -> str:
    try:
        call(store)
    except Exception as error:  # noqa: BLE001  the parent judges it
        return f"{type(error).__name__}: {error}"
    return "ok"


def main(path: str) -> None:
    give_up_rights()
    opened: list[Any] = []
    told = {"open": tried(lambda _: opened.append(open_store(path)), None)}
    for store in opened:
        told |= {name: tried(call, store) for name, call in CALLS.items()}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
