"""Without SQLAlchemy, and without a driver, the error names all that the URL needs, at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

MARIADB = "pip install 'sapwood[mariadb]'"
POSTGRES = "pip install 'sapwood[sqlalchemy,postgres]'"
CASES = [
    ("open", "mariadb://h/x", "pymysql", MARIADB),
    ("open", "mysql://h/x", "pymysql", MARIADB),
    ("open_async", "mariadb://h/x", "aiomysql", MARIADB),
    ("open", "sqlalchemy+mariadb+pymysql://h/x", "pymysql", MARIADB),
    ("open", "sqlalchemy+postgresql://h/x", "psycopg", POSTGRES),
    ("open_async", "sqlalchemy+postgresql://h/x", "psycopg", POSTGRES),
    (
        "open_async",
        "sqlalchemy+sqlite:///x.db",
        "aiosqlite",
        "pip install 'sapwood[sqlalchemy]' aiosqlite",
    ),
    (
        "open_async",
        "sqlalchemy+mariadb+asyncmy://h/x",
        "asyncmy",
        "pip install 'sapwood[sqlalchemy]', and the package of the driver asyncmy",
    ),
]


@pytest.mark.parametrize(("opening", "url", "driver", "advice"), CASES)
@pytest.mark.parametrize("has_sqlalchemy", [False, True], ids=["nothing", "sqlalchemy"])
def test_what_is_missing_is_named_with_its_extra(
    opening: str, url: str, driver: str, advice: str, has_sqlalchemy: bool
) -> None:
    missing, what = (driver, driver) if has_sqlalchemy else ("sqlalchemy", "SQLAlchemy")
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import sapwood\n"
        f"try:\n    sapwood.{opening}({url!r})\n"
        "except sapwood.errors.MissingDependencyError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"{what} is not installed: {advice}\n", done.stderr
