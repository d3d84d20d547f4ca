"""Soak a store: clients write for a while, everything goes wrong, and nothing may be lost.

    make soak ARGS=postgres                      for ten minutes
    make soak ARGS="postgres 60 --seed 7"        for a minute, with that seed's faults

It prints what was tried and what was found, and ends with 1 when a rule was broken.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients import TWINS, Clients
from faults import Faults
from ledger import SESSIONS, SHARED, Noted, session_of
from servers.proxy import Proxy
from soaked_servers import SERVERS, SoakedServer
from writer import OWNER

import sapwood
from sapwood.errors import SapwoodError
from sapwood.model import NewSession, Read

PAGE = 1_000


def names() -> list[str]:
    """Return the sessions: one for each lane of each client, and one for all."""
    lanes = [f"w{client}-{lane}" for client in range(len(TWINS)) for lane in range(SESSIONS)]
    return [*lanes, SHARED]


def ids_in(store: Any, session: str) -> Iterator[str]:
    """Read a session from its beginning."""
    depth = 0
    while page := store.read(OWNER, session, Read(after=depth, limit=PAGE)).messages_only:
        yield from (message.id for message in page)
        depth = page[-1].depth


def soak(soaked: SoakedServer, seconds: float, seed: int) -> tuple[Counter[str], dict[str, int]]:
    """Let clients write while things go wrong; return what was tried, and what was found."""
    chance = random.Random(seed)
    server = soaked.start()
    proxy = Proxy(server.port)
    try:
        with sapwood.open(soaked.url.format(port=server.port), owner=OWNER) as sessions:
            for name in names():
                sessions.store.create_session(OWNER, NewSession(id=name))
            with tempfile.TemporaryDirectory(prefix="soak-") as folder:
                clients = Clients(soaked.url.format(port=proxy.port), Path(folder), chance)
                faults = Faults(server, proxy, clients, chance)
                try:
                    faults.run(seconds)
                finally:
                    noted = clients.end()
            return faults.tried, findings(sessions.store, noted)
    finally:
        proxy.close()
        server.remove()


def findings(store: Any, noted: list[Noted]) -> dict[str, int]:
    """Compare what the clients were told with what is there."""
    wrong = [what for it in noted for what in it.wrong]
    found: dict[str, list[str]] = {}
    for name in names():
        try:
            found[name] = list(ids_in(store, name))
        except SapwoodError as error:
            wrong.append(f"{name}: {error}")
    seen = Counter((name, id) for name, ids in found.items() for id in ids)
    told = {id for it in noted for id in it.done}
    begun = {id for it in noted for id in it.begun}
    wrong += [f"{name}: out of order" for name, ids in found.items() if not _is_in_order(ids)]
    store.finish_deletions()
    wrong += [f"{it.kind} {it.where}: {it.what}" for it in store.admin.check()]
    for what in wrong[:20]:
        print("WRONG:", what)
    return {
        "appends acknowledged": len(told),
        "retried": sum(it.counts["retry"] for it in noted),
        "found": sum(seen.values()),
        "lost": sum((session_of(id), id) not in seen for id in told),
        "doubled": sum(count - 1 for count in seen.values()),
        "never sent, or in another session": sum(
            id not in begun or name != session_of(id) for name, id in seen
        ),
        "other rules broken": len(wrong),
    }


def _is_in_order(ids: list[str]) -> bool:
    """Whether what each lane wrote to a session stands in the order of its calls."""
    last: dict[str, int] = {}
    for id in ids:
        lane, _, number = id.rpartition("-")
        if int(number) <= last.get(lane, -1):
            return False
        last[lane] = int(number)
    return True


MUST_BE_NONE = ("lost", "doubled", "never sent, or in another session", "other rules broken")


def main() -> int:
    """Soak, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", choices=sorted(SERVERS))
    parser.add_argument("seconds", type=float, nargs="?", default=600.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    args = parser.parse_args()
    print(f"{args.store}, {args.seconds:g} seconds, seed {args.seed}", flush=True)
    tried, found = soak(SERVERS[args.store], args.seconds, args.seed)
    for title, counts in (("faults tried", tried), ("appends", found)):
        print(f"\n{title}")
        for what, count in sorted(counts.items()) if counts is tried else counts.items():
            print(f"{count:8}  {what}")
    broken = [what for what in MUST_BE_NONE if found[what]]
    print(f"\n{'BROKEN: ' + ', '.join(broken) if broken else 'all rules held'}")
    return 1 if broken or not found["appends acknowledged"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
