"""What comes along with an append and is written with it at once: data, documents, a patch.

What is read is read with the session locked. On MariaDB, a statement of a block sees what was
committed before it begins. On PostgreSQL all is one statement, which sees what was committed before
it waited for the session; only the rows that it locks or changes are looked at as they are then. So
there documents are not asked for but changed, or locked, on conditions; where one does not hold,
the message gets no id, which fails, and with it the whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET
from sqlalchemy import and_, bindparam, case, delete, func, insert, literal_column, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.dml import Insert

from ...rules.codec import encode_json
from ..base.append_request import Request
from ..base.extras import NO_EXTRAS, DocumentWrite, Extras
from ..relational.rows import KIND_RECORD, PINS_KEY
from .direct import has_compounds, number
from .tables import Tables
from .tx import SPARE_BYTES, Tx

_IN_PROFILE = ("state", "budget", "attributes", "model", "source", "end_reason")
_PATCHED = (*_IN_PROFILE, "closed")
_MOST = 8
_PUT = ("owner", "session", "key", "updated_at", "expires_at", "value", "inherit", "created_at")

_REFUSE = "SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062"
"""Drivers tell this as they tell an id that is known: all is undone, and planned."""
_GUARDED = "; IF NOT ROW_COUNT() THEN " + _REFUSE + "; END IF"


class Along(NamedTuple):
    """What comes along, as far as the text of a statement depends on it."""

    has_data: bool = False
    has_version: bool = False
    fences: int = 0
    documents: tuple[str, ...] = ()
    """Of each: `put` or `delete`, and `_absent` or `_at` with an expected version."""
    patched: tuple[str, ...] | None = None

    @property
    def is_unit(self) -> bool:
        """Whether there is more than data."""
        return self != NOTHING._replace(has_data=self.has_data)


NOTHING = Along()


def along_of(tx: Tx, request: Request) -> Along | None:
    """Return what comes along with an append; None when it has to be planned."""
    extras, has_data = request.extras, request.data is not None
    if extras is NO_EXTRAS:
        is_odd = has_data and (tx.fills_columns or not _is_small(tx, request))
        return None if is_odd else Along(has_data) if has_data else NOTHING
    if tx.fills_columns or tx.tables.are_theirs or tx.kind == "sqlite":
        return None
    keys = [it.key for it in extras.documents]
    patched = _patched(extras)
    if (
        PINS_KEY in keys
        or len({*keys}) < len(keys)
        or max(len(keys), len(extras.fences)) > _MOST
        or (patched is not None and not {*patched} <= {*_PATCHED})
        or not _is_small(tx, request)
    ):
        return None
    documents = tuple(map(_way, extras.documents))
    lost = ("delete_absent", "delete") if tx.kind == "postgresql" else ("delete_absent",)
    if any(it in lost for it in documents):
        return None
    has_version = extras.expected_version is not None
    return Along(has_data, has_version, len(extras.fences), documents, patched)


def _is_small(tx: Tx, request: Request) -> bool:
    if tx.kind == "mysql" and not has_compounds(tx.conn.dialect):
        return False
    values = (request.data, *(it.value for it in request.extras.documents))
    size = len(request.batch[0].body) + sum(len(it or b"") for it in values)
    return tx.most_bytes is None or 2 * size + 2 * SPARE_BYTES <= tx.most_bytes


def _patched(extras: Extras) -> tuple[str, ...] | None:
    patch = extras.patch
    if patch is None:
        return None
    return tuple(it for it in patch.__struct_fields__ if getattr(patch, it) is not UNSET)


def _way(it: DocumentWrite) -> str:
    way = "delete" if it.value is None else "put"
    if it.expected_version is None:
        return way
    return f"{way}_at" if it.expected_version else f"{way}_absent"


def values_along(request: Request, along: Along, now: int) -> dict[str, Any]:
    """Return the values of what comes along."""
    extras = request.extras
    if along is NOTHING:
        return {}
    values: dict[str, Any] = {"data": request.data} if along.has_data else {}
    if along.has_version:
        values["record_version"] = extras.expected_version
    for n, fence in enumerate(extras.fences):
        values |= {f"f{n}_key": fence.key, f"f{n}_version": fence.version}
    for n, (way, it) in enumerate(zip(along.documents, extras.documents, strict=True)):
        values[f"d{n}_key"] = it.key
        if way.endswith("_at"):
            values[f"d{n}_version"] = it.expected_version
        if it.value is not None:
            expires_at = None if it.expires_in_us is None else now + it.expires_in_us
            values |= {f"d{n}_expires_at": expires_at, f"d{n}_value": it.value}
            values[f"d{n}_inherit"] = int(it.inherit)
    if along.patched is not None:
        values["session_id"] = request.session
    for column in along.patched or ():
        value = getattr(extras.patch, column)
        if column == "attributes":
            value = encode_json(value, column)
        values[f"patched_{column}"] = int(value) if column == "closed" else value
    return values


def versions_of(extras: Extras, found: Any) -> dict[str, int]:
    """Return the versions of documents that were written, of which those that are put are given."""
    versions = iter(found)
    return {it.key: 0 if it.value is None else next(versions) for it in extras.documents}


# of the session


def conditions(t: Tables, along: Along) -> list[Any]:
    """Return what has to hold of a session."""
    s = t.session.c
    wanted = [s.has_data == number(1)] if along.has_data else []
    if along.has_version:
        wanted.append(s.version == bindparam("record_version", type_=s.version.type))
    return wanted


def changes(t: Tables, along: Along) -> list[tuple[Any, Any]]:
    """Return what changes in a session's row, before its tip does."""
    s = t.session.c
    changed: list[tuple[Any, Any]] = []
    if along.has_data:
        changed += [(s.data_before, s.data_at), (s.data_at, s.tip + number(1))]
    if along.patched is not None:
        changed.append((s.version, s.version + number(1)))
    patched = [it for it in ("state", "closed") if it in (along.patched or ())]
    return [*changed, *((s[it], bindparam(f"patched_{it}", type_=s[it].type)) for it in patched)]


def _changed_profile(t: Tables, along: Along, session: Any) -> Any:
    p = t.profile.c
    columns = [it for it in _IN_PROFILE if it in (along.patched or ())]
    values = {it: bindparam(f"patched_{it}", type_=p[it].type) for it in columns}
    return update(t.profile).where(p.session == session).values(values) if values else None


def _kept_data(t: Tables, s: Any) -> dict[str, Any]:
    value = bindparam("data", type_=t.data.c.value.type)
    return {"tree": s.tree, "pos": s.tip, "previous": s.data_before, "value": value}


def _told(t: Tables, s: Any, after: Any, name: Any) -> dict[str, Any]:
    now = bindparam("written_at", type_=t.change.c.at.type)
    return {
        **{"owner": s.owner, "after": after, "session": s.number, "tree": s.tree},
        **{"kind": number(KIND_RECORD), "pos": s.version, "at": now, "name": name},
    }


def _new_row(table: Any, columns: dict[str, Any]) -> Any:
    return insert(table).from_select(list(columns), select(*columns.values()))


def _new_document(t: Tables, n: int, s: Any, created_at: Any) -> list[Any]:
    d = t.document.c
    given = [
        bindparam(f"d{n}_key", type_=d.key.type),
        bindparam("written_at", type_=d.updated_at.type),
        *(bindparam(f"d{n}_{it}", type_=d[it].type) for it in ("expires_at", "value", "inherit")),
    ]
    return [s.owner, s.number, *given, created_at]


def _lasts(t: Tables) -> Any:
    d = t.document.c
    now = bindparam("written_at", type_=d.updated_at.type)
    return d.expires_at.is_(None) | (d.expires_at > now)


def _created_at(t: Tables) -> Any:
    """Return when a document was first put that is replaced: one that has expired is gone."""
    d = t.document.c
    return case((_lasts(t), func.coalesce(d.created_at, d.updated_at)))


def _is_document(t: Tables, s: Any, key: str) -> Any:
    d = t.document.c
    wanted = bindparam(key, type_=d.key.type)
    return and_(d.owner == s.owner, d.session == s.number, d.key == wanted)


def _has_version(t: Tables, name: str) -> Any:
    d = t.document.c
    return d.version == bindparam(name, type_=d.version.type)


# one statement, on PostgreSQL


class StatementParts:
    """The parts of a statement that come after its session was moved on."""

    def __init__(self, t: Tables, along: Along, moved: Any) -> None:
        self._t = t
        self._moved = moved.c
        kept = _new_row(t.data, _kept_data(t, moved.c))
        self.first = [kept.cte("kept")] if along.has_data else []
        self.fences = [self._fence(n).is_not(None) for n in range(along.fences)]
        self._held = [*self.fences]
        self.versions: list[Any] = []
        for n, way in enumerate(along.documents):
            made = getattr(self, f"_{way}")(n).returning(t.document.c.version).cte(f"document{n}")
            version = select(made.c.version).scalar_subquery()
            self._held.append(version.is_not(None))
            if way != "delete_at":
                self.versions.append(version.label(f"version{n}"))
        profile = _changed_profile(t, along, moved.c.number)
        if profile is not None:
            self.first.append(profile.cte("patched"))

    def unless_refused(self, id: Any) -> Any:
        """Return a message's id; nothing where something that it depends on does not hold."""
        return case((and_(*self._held), id)) if self._held else id

    def told(self, added: Any) -> Any:
        """Return the part that tells the feed, after the message that was added."""
        told = _told(self._t, self._moved, added.c.seq, self._moved.id)
        return _new_row(self._t.change, told).cte("told")

    def _fence(self, n: int) -> Any:
        d, moved = self._t.document, self._moved
        wanted = _is_document(self._t, moved, f"f{n}_key"), _has_version(self._t, f"f{n}_version")
        found = select(d.c.version).where(*wanted).with_for_update(read=True, of=d)
        return select(found.cte(f"fence{n}").c.version).scalar_subquery()

    def _put(self, n: int, where: Any = None) -> Any:
        t, d = self._t, self._t.document.c
        columns = _new_document(t, n, self._moved, literal_column("NULL::bigint"))
        new = postgresql.insert(t.document).from_select(list(_PUT), select(*columns))
        kept = ("version", "updated_at", "expires_at", "value", "inherit")
        values: dict[Any, Any] = {d[it]: new.excluded[it] for it in kept}
        values[d.created_at] = _created_at(t)
        return new.on_conflict_do_update(
            index_elements=[d.owner, d.session, d.key], set_=values, where=where
        )

    def _put_absent(self, n: int) -> Any:
        d = self._t.document.c
        return self._put(n, d.expires_at <= bindparam("written_at", type_=d.updated_at.type))

    def _put_at(self, n: int) -> Any:
        t, d = self._t, self._t.document.c
        new = dict(zip(_PUT, _new_document(t, n, self._moved, _created_at(t)), strict=True))
        values = {it: new[it] for it in _PUT if it not in ("owner", "session", "key")}
        wanted = _is_document(t, self._moved, f"d{n}_key"), _has_version(t, f"d{n}_version")
        changed = update(t.document).where(*wanted)
        return changed.values(values | {d.version.key: literal_column("DEFAULT")})

    def _delete_at(self, n: int) -> Any:
        wanted = _is_document(self._t, self._moved, f"d{n}_key")
        return delete(self._t.document).where(wanted, _has_version(self._t, f"d{n}_version"))


# a block of statements, on MariaDB


class Replace(Insert):
    """An insertion in place of a row that has the same key."""

    inherit_cache = True


@compiles(Replace)
def _write_replace(made: Replace, compiler: Any, **options: Any) -> str:
    text: str = compiler.visit_insert(made, **options)
    return text.replace("INSERT", "REPLACE", 1)


class RowVariables:
    """A session's row as a block keeps it: each column is a variable."""

    columns = (
        *("number", "owner", "tree", "home", "tip", "running", "version"),
        *("data_at", "data_before"),
    )
    variables = ", ".join(f"sapwood_{it}" for it in columns)

    def __getattr__(self, column: str) -> Any:
        return literal_column(f"sapwood_{column}")


IN_VARIABLES = RowVariables()


class BlockParts:
    """What a block has besides the message: names of variables, texts, and their statements."""

    def __init__(self, t: Tables, along: Along) -> None:
        self._t = t
        self.text = ""
        self.statements: list[Any] = []
        self.versions: list[str] = []
        self.variables: list[str] = []
        if along.has_data:
            self._add("{}", insert(t.data).values(_kept_data(t, IN_VARIABLES)).inline())
        for n in range(along.fences):
            wanted = self._is(n, "f"), _has_version(t, f"f{n}_version")
            found = select(t.document.c.version).where(*wanted)
            self._add(f"IF NOT EXISTS ({{}}) THEN {_REFUSE}; END IF", found)
        for n, way in enumerate(along.documents):
            (self._put if way.startswith("put") else self._delete)(n, way)
        if along.patched is not None:
            profile = _changed_profile(t, along, IN_VARIABLES.number)
            if profile is not None:
                self._add("{}", profile)
            name = bindparam("session_id", type_=t.change.c.name.type)
            told = _told(t, IN_VARIABLES, literal_column("sapwood_seq"), name)
            self._add("{}", insert(t.change).values(told).inline())

    def _add(self, text: str, *statements: Any) -> None:
        self.text += f" {text};"
        self.statements += statements

    def _is(self, n: int, letter: str) -> Any:
        return _is_document(self._t, IN_VARIABLES, f"{letter}{n}_key")

    def _put(self, n: int, way: str) -> None:
        """Write a document in the place of one that there may be."""
        d, made, put = self._t.document, f"sapwood_made{n}", f"sapwood_put{n}"
        self.variables += [made, put]
        self.versions.append(put)
        there = select(d.c.version).where(self._is(n, "d"))
        if way == "put_at":
            asked = there.where(_has_version(self._t, f"d{n}_version"))
            self._add(f"IF NOT EXISTS ({{}}) THEN {_REFUSE}; END IF", asked)
        elif way == "put_absent":
            asked = there.where(_lasts(self._t))
            self._add(f"IF EXISTS ({{}}) THEN {_REFUSE}; END IF", asked)
        found = select(_created_at(self._t)).where(self._is(n, "d"))
        self._add(f"{{}} INTO {made}", found)
        self._add(f"{{}}; SET {put} = LAST_INSERT_ID()", self._new(n, made))

    def _new(self, n: int, made: str) -> Any:
        columns = _new_document(self._t, n, IN_VARIABLES, literal_column(made))
        return Replace(self._t.document).values(dict(zip(_PUT, columns, strict=True))).inline()

    def _delete(self, n: int, way: str) -> None:
        gone = delete(self._t.document).where(self._is(n, "d"))
        if way == "delete_at":
            gone = gone.where(_has_version(self._t, f"d{n}_version"))
        self._add("{}" + (_GUARDED if way == "delete_at" else ""), gone)
