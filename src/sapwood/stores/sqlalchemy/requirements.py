"""What a URL needs to be installed; told without SQLAlchemy, which may be what is missing."""

from __future__ import annotations

from ...errors import MissingDependencyError

_EXTRAS = {"mariadb": "mariadb", "mysql": "mariadb", "postgresql": "sqlalchemy,postgres"}
_OF_EXTRAS = ("", "pymysql", "aiomysql", "psycopg", "pysqlite")


def not_installed(what: str, module: str | None, scheme: str) -> MissingDependencyError:
    """Return the error that a package is missing: it says how to get all that a URL needs."""
    return MissingDependencyError(
        f"{what} is not installed: pip install {_needed(scheme)}", name=module
    )


def _needed(scheme: str) -> str:
    kind, _, driver = scheme.removeprefix("sqlalchemy+").partition("+")
    if driver in _OF_EXTRAS:
        return f"'sapwood[{_EXTRAS.get(kind, 'sqlalchemy')}]'"
    if driver == "aiosqlite":
        return "'sapwood[sqlalchemy]' aiosqlite"
    return f"'sapwood[sqlalchemy]', and the package of the driver {driver}"
