"""Open a store by its URL. The one place that reads the clock, randomness and the environment."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, Unpack
from urllib.parse import unquote

from .errors import MissingDependencyError, StoreUnavailableError, UsageError
from .rules import check
from .rules.ids import IdMaker, check_name
from .rules.tokens import TokenCounter
from .rules.wording import did_you_mean
from .session import SessionManager
from .session.settings import SettingFields, refuse_uncallable, settings_of

if TYPE_CHECKING:
    from .session import AsyncSessionManager
    from .store import AsyncStore, Store

M = TypeVar("M")

MOST_MESSAGE_BYTES = 256 * 1024 * 1024
VARIABLE = "SAPWOOD_STORE"
SEARCH_VARIABLE = "SAPWOOD_SEARCH"
SCHEMES = (
    "sqlite:///file.db, sqlite:////folder/file.db, postgresql://user:password@host/database, "
    "redis://, redis+cluster://, mongodb://, opensearch://, mariadb://, mysql://, "
    "sqlalchemy+ and a URL of SQLAlchemy's, or memory://"
)
# The folder of a store under `sapwood.stores`, and its class, by the URL's scheme.
SERVERS = {
    "postgresql": ("postgres", "PostgresStore"),
    "postgres": ("postgres", "PostgresStore"),
    "redis": ("redis", "RedisStore"),
    "rediss": ("redis", "RedisStore"),
    "redis+cluster": ("redis", "RedisStore"),
    "rediss+cluster": ("redis", "RedisStore"),
    "mongodb": ("mongodb", "MongoStore"),
    "mongodb+srv": ("mongodb", "MongoStore"),
    "opensearch": ("opensearch", "OpenSearchStore"),
    "opensearch+https": ("opensearch", "OpenSearchStore"),
    "mariadb": ("sqlalchemy", "SqlAlchemyStore"),
    "mysql": ("sqlalchemy", "SqlAlchemyStore"),
    "sqlalchemy": ("sqlalchemy", "SqlAlchemyStore"),
}
# The same for search indices that can be attached to a store.
INDICES = {
    "opensearch": ("opensearch", "OpenSearchIndex"),
    "opensearch+https": ("opensearch", "OpenSearchIndex"),
}


class Server(NamedTuple):
    """A database server or a search index: what speaks to it, and its URL."""

    folder: str
    kind: str
    url: str

    def load(self, twin: str) -> Any:
        """Return the class that speaks to it; its driver is imported here, and not before."""
        try:
            return _load(self.folder, f"{twin}{self.kind}")
        except MissingDependencyError as error:
            if self.folder != "sqlalchemy":
                raise
            raise self._with_driver(twin, error) from error

    def _with_driver(self, twin: str, error: MissingDependencyError) -> MissingDependencyError:
        """Name what SQLAlchemy itself needs for the URL, too."""
        from .stores.sqlalchemy.requirements import not_installed

        scheme = self.url.partition("://")[0]
        if twin and scheme == "sqlalchemy+sqlite":
            scheme += "+aiosqlite"
        return not_installed("SQLAlchemy", error.name, scheme)


StorePlace = Path | Server | None
"""Where sessions live: in a file, on a server, or in memory."""


def open(
    url: str | Path | None = None,
    *,
    owner: str = "default",
    token_counter: TokenCounter | None = None,
    durability: Literal["full", "normal"] = "full",
    search: str | None = None,
    max_message_bytes: int | None = None,
    **settings: Unpack[SettingFields],
) -> SessionManager:
    """Open a store and return the owner's sessions in it.

    A path such as `agent.db` is a SQLite file, as `sqlite:///agent.db` is;
    `postgresql://user:password@host/database` is a server, to which the first call connects, and
    `memory://` is gone when it is closed. Without a URL it is the environment's `SAPWOOD_STORE`,
    or a file in the user's data folder. `durability="normal"` does not wait for the disk: a power
    cut may then take the last messages, but never damages the file. `search` is the URL of a search
    index to attach, as `opensearch://host`; without any URL it is `SAPWOOD_SEARCH`.
    `max_message_bytes` is how large a message may be, in place of the store's own limit. The
    settings are those of every session: `context`, `compact_with`, `compact_after`, `listeners` and
    so on.
    """
    place = _Place(url, durability, search, max_message_bytes)
    return _open(SessionManager, "", owner, place, token_counter, settings)


def open_async(
    url: str | Path | None = None,
    *,
    owner: str = "default",
    token_counter: TokenCounter | None = None,
    durability: Literal["full", "normal"] = "full",
    search: str | None = None,
    max_message_bytes: int | None = None,
    **settings: Unpack[SettingFields],
) -> AsyncSessionManager:
    """Open a store for use on an event loop; the same as `open` otherwise."""
    from .session import AsyncSessionManager

    place = _Place(url, durability, search, max_message_bytes)
    return _open(AsyncSessionManager, "Async", owner, place, token_counter, settings)


def open_store(
    url: str | Path | None = None,
    *,
    durability: Literal["full", "normal"] = "full",
    search: str | None = None,
    max_message_bytes: int | None = None,
) -> Store:
    """Open a store by itself, without an owner: for what operators do over all owners.

    The arguments are those of `open`. Whoever opens it closes it.
    """
    opened: Store = _Place(url, durability, search, max_message_bytes).open("", _new_ids())
    return opened


def open_store_async(
    url: str | Path | None = None,
    *,
    durability: Literal["full", "normal"] = "full",
    search: str | None = None,
    max_message_bytes: int | None = None,
) -> AsyncStore:
    """Open a store by itself for use on an event loop; the same as `open_store` otherwise."""
    place = _Place(url, durability, search, max_message_bytes)
    opened: AsyncStore = place.open("Async", _new_ids())
    return opened


class _Place(NamedTuple):
    """What `open` is told of where sessions are stored."""

    url: str | Path | None
    durability: str
    search: str | None
    max_message_bytes: int | None

    def open(
        self, twin: str, new_id: Callable[[], str], settings: SettingFields | None = None
    ) -> Any:
        """Check the arguments, open the store, and attach the index; `twin` begins its class names.

        The settings are checked, too, before a file is opened.
        """
        if self.durability not in ("full", "normal"):
            raise UsageError(
                f"durability must be 'full' or 'normal', not {self.durability!r}",
                path="durability",
            )
        limit = self.max_message_bytes
        check.whole(limit, "max_message_bytes", 1, MOST_MESSAGE_BYTES)
        options: dict[str, Any] = {} if limit is None else {"max_message_bytes": limit}
        place = _find(self.url, make_folder=True)
        if isinstance(place, Server) and self.durability != "full":
            raise UsageError(
                "on a server durability is the server's: it is set there (its page in docs/ says "
                "how)",
                path="durability",
            )
        index = _index(self.url, self.search)
        settings_of(settings or {}, ("owner", "token_counter", *self._fields[1:]))
        if isinstance(place, Server):
            store = place.load(twin).from_url(place.url, new_id=new_id, **options)
        elif place is None:
            store = _load("memory", f"{twin}MemoryStore")(clock=_clock, new_id=new_id, **options)
        else:
            kind = _load("sqlite", f"{twin}SqliteStore")
            store = kind(place, clock=_clock, new_id=new_id, durability=self.durability, **options)
        if index is not None:
            attached = index.load(twin).from_url(index.url)
            store = _load("searched", f"{twin}SearchedStore")(store, attached)
        return store


def _open(
    manager: Callable[..., M],
    twin: str,
    owner: str,
    place: _Place,
    token_counter: TokenCounter | None,
    settings: SettingFields,
) -> M:
    check_name(owner, "owner")
    refuse_uncallable(token_counter, "token_counter")
    new_id = _new_ids()
    store = place.open(twin, new_id, settings)
    return manager(
        store,
        owner=owner,
        new_id=new_id,
        token_counter=token_counter,
        random=random.random,
        **settings,
    )


def _new_ids() -> IdMaker:
    return IdMaker(_clock, os.urandom)


def _load(folder: str, name: str) -> Any:
    return getattr(import_module(f"sapwood.stores.{folder}"), name)


def _clock() -> int:
    return time.time_ns() // 1000


def _index(url: str | Path | None, search: str | None) -> Server | None:
    """Return the index to attach; that of the environment belongs to the store of it."""
    if url is None and search is None:
        search = os.environ.get(SEARCH_VARIABLE) or None
    if search is None:
        return None
    scheme, _, rest = str(search).partition("://")
    found = INDICES.get(scheme.lower())
    if found is None:
        raise UsageError(
            "this is no search index that can be attached: use opensearch://host", path="search"
        )
    return Server(*found, f"{scheme.lower()}://{rest}")


def file_of(url: str | Path | None = None) -> Path | None:
    """Return the database's file that `open` would use; None means that it is none."""
    place = _find(url)
    return place if isinstance(place, Path) else None


def _find(url: str | Path | None, *, make_folder: bool = False) -> StorePlace:
    """Find where sessions live, by the argument or the environment, or else the user's own file."""
    given = os.environ.get(VARIABLE) or None if url is None else url
    if given is not None:
        return _parse(given)
    try:
        folder = _data_folder() / "sapwood"
        if make_folder:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError) as error:
        raise StoreUnavailableError(
            f"the user's data folder cannot be used ({error}): give a URL or set {VARIABLE}"
        ) from error
    return folder / "sapwood.db"


def _parse(url: str | Path) -> StorePlace:
    if _is_path(url):
        return Path(url).expanduser()
    # Only the scheme is ever quoted in an error: what follows it may hold a password.
    scheme, colon, rest = str(url).partition("://")
    scheme = scheme.lower()
    if not colon:
        raise UsageError(
            f"the store's URL has no scheme: use a file's path, as ./agent.db, or {SCHEMES}",
            path="url",
        )
    # After sqlalchemy+ comes whatever SQLAlchemy knows.
    server = SERVERS.get(scheme) or SERVERS.get(scheme.split("sqlalchemy+")[0] or "sqlalchemy")
    if server is not None:
        return Server(*server, f"{scheme}://{rest}")
    if scheme not in ("sqlite", "memory"):
        advice = did_you_mean(scheme, ("sqlite", "memory", *SERVERS)) or f": use {SCHEMES}"
        raise UsageError(f"{scheme}:// is not known{advice}", path="url")
    if "?" in rest or "#" in rest:
        raise UsageError("the URL takes no ? or #: write them as %3F and %23", path="url")
    if scheme == "sqlite":
        return _sqlite_file(rest)
    if rest:
        raise UsageError("nothing comes after memory://", path="url")
    return None


def _is_path(url: str | Path) -> bool:
    """Whether it is a file's path: it has a folder or a suffix, and nothing of a URL."""
    if isinstance(url, Path):
        return True
    name = str(url)
    if os.name == "nt" and name[1:2] == ":":
        name = name[2:]
    return not set(name) & set(":@?#") and ("/" in name or os.sep in name or "." in name)


def _sqlite_file(rest: str) -> Path:
    if not rest.startswith("/") or rest == "/":
        raise UsageError(
            "after sqlite: come three slashes and a file, sqlite:///file.db, or four and the "
            "whole path, sqlite:////folder/file.db",
            path="url",
        )
    name = unquote(rest[1:])
    if name == ":memory:":
        raise UsageError("for a store in memory use memory://", path="url")
    return Path(name)


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    # A relative XDG path is to be ignored, says its specification.
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".local" / "share"
