"""A process that searches all the time: `python feeder.py folder url prefix`.

It says when it begins. With `write` after that, it also writes, edits and deletes.
"""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from faults.attached.support import ADA, found, open_store, say, tell
from sapwood.errors import NotFoundError, StoreError


def main() -> None:
    folder, url, prefix, name, *does = sys.argv[1:]
    with open_store(Path(folder), url, prefix) as store:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        n = 0
        while True:
            if does:
                n += 1
                change(store, name, n)
            with suppress(StoreError):
                found(store)


def change(store: object, name: str, n: int) -> None:
    tell(store, name, *(f"{name}-{n}-{k}" for k in range(3)))
    chosen = f"{name}-{random.randint(1, n)}-{random.randint(0, 2)}"
    with suppress(NotFoundError):
        if n % 3 == 0:
            store.update_message(ADA, name, say(chosen, f"lighthouse {n}"))  # type: ignore[attr-defined]
        elif n % 3 == 1:
            store.delete_messages(ADA, name, [chosen])  # type: ignore[attr-defined]
    if n % 7 == 0:
        store.clear_session(ADA, name)  # type: ignore[attr-defined]


main()
