"""What is counted of the package, and what it is held to."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HOUSE = Path(__file__).resolve().parents[2] / "tools" / "house"

Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import a module of the tool by its name."""
    monkeypatch.syspath_prepend(str(HOUSE))
    yield importlib.import_module
    for file in HOUSE.glob("*.py"):
        sys.modules.pop(file.stem, None)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / "sapwood" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return write


def found(house: Any, src: Path) -> list[str]:
    """Return what is found wrong, each with its place."""
    findings = house("check").findings(house("sources").modules(src))
    return [f"{it.where.removeprefix('src/sapwood/')} {it.key}" for it in findings]


def test_a_type_name_is_defined_once(house: Any, write: Write) -> None:
    src = write(
        {
            "a.py": "class Place: ...\ndef f():\n    class _End: ...\nT = TypeVar('T')\nMOST = x",
            "b.py": "\nPlace = tuple[int, int]\nclass AsyncPlace:\n    class _End: ...\n",
            "c/_async/d.py": "class AsyncE: ...\nT = TypeVar('T')\nMOST = x.Y\nKey = x.Y | None\n",
            "c/_sync/d.py": "class E: ...\nclass AsyncE: ...\n",
            "c/e.py": "class E: ...\nKey: TypeAlias = 'int'\nNumber = NewType('Number', int)\n",
            "f.py": "Number: int = 1\nNumber = NewType('Number', int)\nmade = Place\n",
            "testing/a.py": "class Place: ...\n",
        }
    )
    assert found(house, src) == [
        *("c/_async/d.py:4 name Key", "c/e.py:2 name Key"),
        *("c/e.py:3 name Number", "f.py:2 name Number"),
        *("a.py:1 name Place", "b.py:2 name Place"),
        *("a.py:3 name _End", "b.py:4 name _End"),
    ]


def test_functions_and_files_have_a_longest_length(house: Any, write: Write) -> None:
    src = write({"a.py": "async def within():\n" + "    x\n" * 59, "b.py": "x\n" * 400})
    write(
        {"c.py": "def over():\n" + "    x\n" * 60, "d.py": "x\n" * 401, "_sync/e.py": "x\n" * 401}
    )
    assert found(house, src) == ["c.py:1 function over", "d.py:401 file sapwood/d.py"]


def test_classes_have_a_greatest_depth(house: Any, write: Write) -> None:
    src = write(
        {
            "a/__init__.py": "from .one import One as First\n",
            "a/one.py": "class One(Protocol, Generic[T]): ...\n",
            "_sync/b.py": "from ..a import First\nfrom .. import a\nclass Two(First[int]): ...\n",
            "c.py": "from ._sync import b\nclass Three(Exception, b.Two): ...\n",
            "d.py": "from sapwood.c import Three\nclass Four(Three): ...\nclass Five(Four): ...\n",
            "s.py": "from .c import Three\nclass AsyncSession(Three): ...\n",
            "errors.py": "from .d import Five\nclass Six(Five): ...\n",
        }
    )
    assert found(house, src) == ["d.py:3 class Five", "s.py:2 class AsyncSession"]


def test_what_is_wrong_is_told_with_its_place(
    house: Any, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    src = write({"a.py": "class A: ...\nclass A: ...\n"})
    main = house("check").main
    assert main(src) == 1
    assert capsys.readouterr().out.splitlines() == [
        "src/sapwood/a.py:1: A is defined 2 times",
        "src/sapwood/a.py:2: A is defined 2 times",
    ]
    assert main(write({"a.py": "class A: ...\n"})) == 0


def test_statements_are_counted_by_package(house: Any, write: Write) -> None:
    src = write({"a.py": "if x:\n    y\n", "stores/b/_async/c.py": "x = 1; y", "stores/d.py": "x"})
    write({"stores/b/_sync/c.py": "x", "testing/c.py": "x", "rules/e.py": "'''It.'''\n"})
    counts = {"rules": [1], "sapwood": [2], "stores": [1], "stores/b": [2], "in all": [6]}
    assert house("statements").statements(src) == counts


def test_a_store_is_read_with_what_it_imports_of_stores(house: Any, write: Write) -> None:
    src = write(
        {
            "stores/sqlite/__init__.py": "from .store import Store\n",
            "stores/sqlite/store.py": "from ..base._sync import unit\nfrom ...rules import tree\n",
            "stores/sqlite/far/alone.py": "x\ny\n",
            "stores/base/_async/unit.py": "from ...url import parse\n",
            "stores/base/_sync/unit.py": "from ...url import parse\n",
            **{"stores/url.py": "x\n", "stores/redis/store.py": "x\n", "rules/tree.py": "x\n"},
        }
    )
    wanted = {"stores": [1, 1], "stores/base": [1, 1], "stores/sqlite": [3, 5], "in all": [5, 7]}
    assert house("reading").reading("sqlite", src) == wanted


def test_a_walk_is_counted_by_files_functions_and_depth(
    house: Any, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("house_a", "house_b", "house_c")
    loaded = "def run():\n    from house_c import x\n    import house_b as b\n"
    src = write({"house_a.py": loaded + "    return [b.leaf(n) for n in 'ab']\n"})
    write({"house_b.py": "def leaf(n):\n    return n\n", "house_c.py": "def x(): ...\nx()\n"})
    monkeypatch.syspath_prepend(str(src / "sapwood"))
    try:
        run = importlib.import_module(names[0]).run
        assert house("walks").Walk(str(src)).of(run) == (2, 2, 2)
    finally:
        for name in names:
            sys.modules.pop(name, None)


def test_a_session_on_sqlite_is_walked_through(house: Any) -> None:
    rows = house("walks").walks(house("sources").SRC)
    assert [*rows] == ["append", "history", "prepare", "compact", "Session's classes"]
    assert [1, 1, 1] < rows["append"] < rows["compact"]


def test_a_table_shows_what_was_beside_what_is(house: Any) -> None:
    before, now = {"a": [1, 20], "in all": [1, 20]}, {"b": [3], "in all": [3]}
    assert house("table").lines(("of", "x", "y"), before, now) == [
        "of          x       y",
        "a       1 → -  20 → -",
        "b       - → 3",
        "in all  1 → 3  20 → -",
    ]
