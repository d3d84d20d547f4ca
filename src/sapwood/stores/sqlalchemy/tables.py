"""Our tables, under whatever names. Code speaks of columns by our keys; the names are the user's.

Positions are packed into one integer, segment << 24 | depth; 0 stands for the root. Times are
microseconds since 1970. What is not a number, a name or a digest is bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    exc,
    text,
)
from sqlalchemy.types import NullType

from ...errors import UsageError
from ...model import CHAT
from .column_types import MYSQL, Big, Blob, Digest, KeyDigest, KeyName, Name, Rising

Columns = Mapping[str, Mapping[str, str]]

FLOOR = "floor"
"""Names the counter of the highest version that a deleted record had."""
THEIRS = "their_"
"""What the keys of the user's own columns begin with."""

_PREFIX = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,29})?")


class Tables:
    """The tables of one store; each is an attribute by our name of it."""

    owner: Table
    home: Table
    session: Table
    profile: Table
    tag: Table
    inherited: Table
    segment: Table
    message: Table
    edit: Table
    data: Table
    overlay: Table
    in_force: Table
    document: Table
    usage: Table
    change: Table
    reader: Table
    sweep: Table
    counter: Table
    migration: Table

    def __init__(
        self,
        kind: str,
        *,
        prefix: str = "",
        schema: str | None = None,
        tables: Mapping[str, str] | None = None,
        columns: Columns | None = None,
        are_theirs: bool = False,
    ) -> None:
        if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
            raise UsageError(
                "prefix must be up to 30 letters, digits and underscores, and begin with no digit",
                path="prefix",
            )
        self.kind = "mysql" if kind in MYSQL else kind
        self.are_theirs = are_theirs
        # Elsewhere a user's column may have any collation, which is not looked at.
        self.keys_are_sorted = self.kind == "mysql" or not are_theirs
        self.metadata = MetaData(schema=schema)
        self._prefix = prefix
        self._tables = tables or {}
        self._columns = columns or {}
        _refuse_unknown(self._tables, NAMES, "tables")
        _refuse_unknown(self._columns, NAMES, "columns")
        try:
            self._make_sessions()
            self._make_profiles()
            self._make_messages()
            self._make_documents()
            self._make_feed()
        except exc.SQLAlchemyError as error:
            # Two of one name, or one that is empty.
            raise UsageError(f"these names cannot be used: {error}", path="tables") from error

    @property
    def all(self) -> list[Table]:
        """All tables."""
        return [self.of(name) for name in NAMES]

    def of(self, name: str) -> Table:
        """Return a table by our name of it."""
        found: Table = getattr(self, name)
        return found

    def know_theirs(self, table: str, names: Iterable[str]) -> None:
        """Let rows be added with columns of the user's own."""
        found = self.of(table)
        for name in names:
            key = THEIRS + name
            if key in found.c:
                continue
            if any(column.name == name for column in found.c):
                raise UsageError(
                    f"extra gives {name!r} for a row of {table}, which is ours to fill",
                    path="extra",
                )
            found.append_column(Column(name, NullType(), key=key), replace_existing=True)

    def _table(
        self,
        name: str,
        *columns: Column[Any],
        unique: Sequence[tuple[str, ...]] = (),
        **indexes: tuple[str, ...],
    ) -> None:
        """Make a table, its unique keys, and its indexes by name.

        Indexes are named after their tables: on SQLite and PostgreSQL no two may have one name.
        """
        renamed = self._columns.get(name, {})
        _refuse_unknown(renamed, [it.key for it in columns], name)
        real = self._tables.get(name, self._prefix + name)
        if not real:
            raise UsageError(f"the table {name} needs a name", path="tables")
        for column in columns:
            column.name = renamed.get(column.key, column.name)
        parts = [
            *columns,
            *(UniqueConstraint(*it) for it in unique),
            *(Index(f"{real}_{index}", *it) for index, it in indexes.items()),
        ]
        table = Table(real, self.metadata, *parts, sqlite_autoincrement=True, mysql_engine="InnoDB")
        setattr(self, name, table)

    def _make_sessions(self) -> None:
        self._table(
            "owner",
            _number("number"),
            Column("name", Name, nullable=False, unique=True),
            _figure("trimmed"),
            _figure("trimmed_change"),
        )
        # Numbers for homes, and for trees, which are named by their first home; a tree's row is
        # what its writers lock.
        self._table("home", _number("number"))
        self._table(
            "session",
            _number("number"),
            _figure("owner"),
            Column("key", Digest, nullable=False, unique=True),
            Column("id", Name, nullable=False),
            Column("home", Big, nullable=False, unique=True),
            _figure("tree"),
            _figure("tip"),
            Column("ends", Integer, nullable=False),  # 1: the tip ends a segment of its own,
            _figure("running"),  # and this is its path_tokens
            _figure("fork"),
            Column("context", Big),  # tokens shown at the tip; NULL: to be worked out
            _figure("messages"),
            _figure("overlays"),
            _figure("version"),
            _figure("created_at"),
            _figure("active_at"),
            _figure("active_s"),  # the second of active_at, so that its index rests
            _flag("closed", 0),
            _flag("has_data", 0),  # 1: there may be data in its tree
            _later("data_at"),  # where `ends` is 1, where the data stands that holds at the tip,
            _later("data_before"),  # and where it stood before that was appended at once
            Column("kind", Name, nullable=False, server_default=CHAT),
            Column("updated_at", Big),  # NULL: it was not written since there is this column
            Column("updated_s", Big),  # its second; NULL: it is not listed with its fellows yet
            Column("state", Name, nullable=False, server_default=""),  # as its profile has it
            by_active=("owner", "kind", "active_s", "number"),
            by_updated=("owner", "kind", "updated_s", "number"),
            by_created=("owner", "kind", "number"),
            by_state=("owner", "kind", "state"),
            of_all=("kind", "state", "active_s", "number"),
            by_tree=("tree", "fork"),
        )
        self._table("inherited", _key("session"), _key("home"), by_home=("home",))

    def _make_profiles(self) -> None:
        self._table(
            "profile",
            _key("session"),
            Column("title", Blob),
            Column("state", Name, nullable=False),
            Column("tags", Blob, nullable=False),  # each between two line ends
            Column("budget", Big),
            Column("parent_kind", Name),
            Column("parent", Name),
            Column("attributes", Blob, nullable=False),
            Column("model", Name),
            Column("source", Name),
            Column("end_reason", Name),
            # What the layers above keep of it, as JSON, and by what it is found; NULL is nothing.
            Column("system", Blob),
            Column("system_key", KeyDigest),
            Column("title_key", KeyDigest),
            by_parent=("parent",),
            by_key=("system_key",),
            by_title=("title_key",),
        )
        tag = [_key("owner"), Column("tag", Name, primary_key=True), _key("session")]
        self._table("tag", *tag, by_session=("session",))

    def _make_messages(self) -> None:
        self._table(
            "segment",
            _number("number"),
            _figure("tree"),
            _figure("home"),
            _figure("parent"),
            Column("lineage", Blob, nullable=False),
            _later("data_at"),  # where the data stands that held where it grew out
            by_parent=("tree", "parent"),
            by_home=("tree", "home"),
        )
        # A message without a body was deleted. The digest of what was first appended is only kept
        # where the body was changed since: else the body tells. A home is of one tree: with the
        # tree in front of its key, a server that knows the table as it was when it was small would
        # take that for one that leads to a position. What MariaDB counts up has to be a key.
        self._table(
            "message",
            _key("tree"),
            _key("pos"),
            _figure("owner"),
            Column("seq", Rising(self.kind), nullable=self.kind == "mysql"),
            _figure("home"),
            Column("id", Name, nullable=False),
            Column("role", Name, nullable=False),
            _figure("tokens"),
            _figure("path_tokens"),
            _figure("version"),
            _figure("created_at"),
            Column("digest", Digest),
            Column("body", Blob),
            unique=[("home", "id"), *([("seq",)] if self.kind == "mysql" else [])],
            by_change=("owner", "seq"),
            by_time=("owner", "created_at"),
        )
        edit = [_number("seq"), _figure("tree"), _figure("pos"), _figure("delta")]
        self._table("edit", *edit, unique=[("tree", "pos")])
        # The versions of data at positions; a mark is a message without a body, of the role `mark`.
        data = [_key("tree"), _key("pos"), _figure("previous")]
        self._table("data", *data, Column("value", Blob, nullable=False))
        self._table(
            "overlay",
            _number("number"),
            _figure("tree"),
            Column("id", Name, nullable=False),
            _figure("first"),
            _figure("last"),
            _figure("tokens"),
            _figure("covered_tokens"),
            Column("created_by", Name, nullable=False),
            _figure("created_at"),
            Column("metadata", Blob, nullable=False),
            Column("summary", Blob, nullable=False),
            unique=[("tree", "id")],
        )
        # Read backwards, the first row at or before a position is the overlay to show.
        in_force = [_key("session"), _key("last"), _key("width"), _key("overlay")]
        self._table("in_force", *in_force, by_overlay=("overlay",))

    def _make_documents(self) -> None:
        # The key is the version, which is never given twice. Session 0 is the owner itself.
        self._table(
            "document",
            _number("version"),
            _figure("owner"),
            _figure("session"),
            Column("key", KeyName, nullable=False),
            _figure("updated_at"),
            Column("expires_at", Big),
            Column("value", Blob, nullable=False),
            _flag("inherit", 1),  # 0: forks do not copy it, and a clear takes it
            Column("created_at", Big),  # NULL: it was not replaced since it was first put
            unique=[("owner", "session", "key")],
        )
        self._table(
            "usage",
            _number("number"),
            _figure("session"),
            Column("id", Name, nullable=False),
            Column("model", Name, nullable=False),
            Column("message", Name),
            _figure("input_tokens"),
            _figure("output_tokens"),
            _figure("cached_tokens"),
            _figure("reasoning_tokens"),
            _figure("cost_micros"),
            unique=[("session", "id")],
        )

    def _make_feed(self) -> None:
        # Edits, deletions and retired sessions; `after` is the message of the feed they follow.
        self._table(
            "change",
            _number("number"),
            _figure("owner"),
            _figure("after"),
            _figure("session"),
            _figure("tree"),
            _figure("kind"),
            _figure("pos"),
            _figure("at"),
            Column("name", Name),
            by_order=("owner", "after", "number"),
        )
        self._table(
            "reader",
            _key("owner"),
            Column("name", Name, primary_key=True),
            _figure("seq"),
            _figure("change"),
        )
        # Work that is left to be done: segments to cut or delete.
        self._table("sweep", _key("tree"), _key("segment"))
        # Of numbers of messages on SQLite, and `floor`: the highest version of a deleted record.
        self._table("counter", Column("name", Name, primary_key=True), _figure("value"))
        self._table(
            "migration",
            Column("version", Integer, primary_key=True, autoincrement=False),
            Column("name", Text, nullable=False),
            Column("checksum", Text, nullable=False),
            _figure("applied_at"),
        )


NAMES = tuple(Tables.__annotations__)
"""Our names of the tables, in the order in which they are made."""


def _number(key: str) -> Column[Any]:
    return Column(key, Big, primary_key=True, autoincrement=True)


def _key(key: str) -> Column[Any]:
    return Column(key, Big, primary_key=True, autoincrement=False)


def _figure(key: str) -> Column[Any]:
    return Column(key, Big, nullable=False)


def _later(key: str) -> Column[Any]:
    """Return a column of numbers that tables may get later, when they have rows."""
    return Column(key, Big, nullable=False, server_default=text("0"))


def _flag(key: str, usual: int) -> Column[Any]:
    """Return a column of 0 or 1 that tables may get later, when they have rows."""
    return Column(key, Integer, nullable=False, server_default=text(str(usual)))


def _refuse_unknown(given: Mapping[str, Any], known: Any, where: str) -> None:
    for name in given:
        if name not in known:
            raise UsageError(
                f"{where} has no {name!r}: it can rename {', '.join(known)}", path=where
            )
