"""Where the measuring happens: one folder, and the large databases that rows share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import count
from pathlib import Path

from measure import AsyncCall, Call
from messages import messages
from raw import Durability, RawTable, clock, new_id, schema_of

from sapwood.model import NewMessage, NewSession
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore

OWNER = "ada"
SESSION = "s"
BATCH = 1_000


def open_store(path: Path, durability: Durability = "full") -> SqliteStore:
    """Open a store as `sapwood.open` does."""
    return SqliteStore(path, clock=clock, new_id=new_id, durability=durability)


def open_async_store(path: Path, durability: Durability = "full") -> AsyncSqliteStore:
    """Open a store as `sapwood.open_async` does."""
    return AsyncSqliteStore(path, clock=clock, new_id=new_id, durability=durability)


def go_round(path: Path, step: Call) -> None:
    """Write until the log was copied back and begun anew: only then does it stop growing."""
    step()
    begun = _salt(path)
    while _salt(path) == begun:
        step()


async def async_go_round(path: Path, step: AsyncCall) -> None:
    """Do the same on a loop."""
    await step()
    begun = _salt(path)
    while _salt(path) == begun:
        await step()


def _salt(path: Path) -> bytes:
    """Read the numbers in the log's header that change when it begins anew."""
    with path.with_name(path.name + "-wal").open("rb") as log:
        return log.read(24)[16:]


class World:
    """A folder, how much to measure, and databases that are built when first asked for."""

    def __init__(self, folder: Path, *, quick: bool = False) -> None:
        self.folder = folder
        self.quick = quick
        self._numbers = count(1)
        self._built: dict[str, Path] = {}

    def times(self, count: int) -> int:
        """Return how often to do something; a quick run does it less often."""
        return max(count // 5, 4) if self.quick else count

    def size(self, count: int) -> int:
        """Return how large to build something; a quick run builds smaller."""
        return count // 10 if self.quick else count

    def new_file(self, name: str) -> Path:
        """Return a path that is not in use."""
        return self.folder / f"{next(self._numbers):03}-{name}.db"

    def copy(self, path: Path) -> Path:
        """Copy a closed database and its index."""
        copy = Path(shutil.copyfile(path, self.new_file(path.stem.split("-", 1)[1])))
        index = Path(f"{path}-search")
        if index.exists():
            shutil.copyfile(index, f"{copy}-search")
        return copy

    def new_store(self, name: str, durability: Durability = "full") -> tuple[Path, SqliteStore]:
        """Open a new store with one empty session in it."""
        path = self.new_file(name)
        store = open_store(path, durability)
        store.create_session(OWNER, NewSession(id=SESSION))
        return path, store

    def new_raw(self, name: str, durability: Durability = "full") -> RawTable:
        """Open a new raw table."""
        return RawTable(self.new_file(f"raw-{name}"), self.schema, durability)

    @cached_property
    def schema(self) -> list[str]:
        """How the message table is made."""
        path, store = self.new_store("schema")
        store.close()
        return schema_of(path)

    def once(self, name: str, build: Callable[[World, Path], None]) -> Path:
        """Build a database the first time it is asked for; the rows share it, so copy it."""
        if name not in self._built:
            path = self.new_file(name)
            build(self, path)
            self._built[name] = path
        return self._built[name]

    def with_session_of(self, length: int) -> Path:
        """Return a database with one session of so many messages."""

        def build(_: World, path: Path) -> None:
            with open_store(path, "normal") as store:
                store.create_session(OWNER, NewSession(id=SESSION))
                fill(store, SESSION, messages(length))
                store.finish_deletions()

        return self.once(f"session-of-{length}", build)

    def with_100_000(self) -> Path:
        """Return a database with one session of 100,000 messages."""
        return self.with_session_of(self.size(100_000))

    def with_10_000_sessions(self) -> tuple[Path, list[str]]:
        """Return a database with 10,000 sessions of one message, and their names."""
        names = [f"s{number}" for number in range(self.size(10_000))]

        def build(_: World, path: Path) -> None:
            with open_store(path, "normal") as store:
                for name, message in zip(names, messages(len(names)), strict=True):
                    store.create_session(OWNER, NewSession(id=name))
                    store.append(OWNER, name, [message])

        return self.once("sessions", build), names


def fill(store: SqliteStore, session: str, new: Iterable[NewMessage], owner: str = OWNER) -> None:
    """Append messages in batches."""
    batch: list[NewMessage] = []
    for message in new:
        batch.append(message)
        if len(batch) == BATCH:
            store.append(owner, session, batch)
            batch = []
    if batch:
        store.append(owner, session, batch)
