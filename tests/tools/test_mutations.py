"""Which changes of a source count as mutations, and which are drawn."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

MUTATE = Path(__file__).resolve().parents[2] / "tools" / "mutate"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a module of the tool by its name."""
    monkeypatch.syspath_prepend(str(MUTATE))
    return importlib.import_module


def _changes(tool: Any, text: str, path: str = "a.py") -> set[tuple[str, str]]:
    """Give what each mutation of a text makes of the line that it changes."""
    source = tool("mutation").Source(path, text)
    is_program = path.endswith(".py")
    found = (
        tool("python_mutations").Finder(source).find()
        if is_program
        else tool("text_mutations").in_file(source)
    )
    return {
        (mutation.kind, mutation.on(text).splitlines()[mutation.line - 1].strip())
        for mutation in found
    }


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("a < b", "a <= b"),
        ("a <= b", "a < b"),
        ("a > b", "a >= b"),
        ("a >= b", "a > b"),
        ("a == b", "a != b"),
        ("a != b", "a == b"),
        ("a is b", "a is not b"),
        ("a is not b", "a is b"),
        ("a in b", "a not in b"),
        ("a not in b", "a in b"),
        ("'ä→' == (b)", "'ä→' != (b)"),
    ],
)
def test_a_comparison_becomes_its_neighbour(tool: Any, was: str, becomes: str) -> None:
    assert _changes(tool, f"x = {was}\n") == {("comparison", f"x = {becomes}")}


def test_each_side_of_a_chain_is_a_comparison(tool: Any) -> None:
    assert _changes(tool, "a < b <= c\n") == {
        ("comparison", "a <= b <= c"),
        ("comparison", "a < b < c"),
    }


@pytest.mark.parametrize(
    "line", ["a[{}:]", "a[{}]", "a - {}", "a = range({})", "a = max(b, {})", "a += {}"]
)
def test_a_number_that_bounds_something_moves_by_one(tool: Any, line: str) -> None:
    changes = _changes(tool, f"def f(a, b):\n    {line.format(4)}\n")
    assert changes == {("boundary", line.format(number)) for number in (3, 5)}


def test_a_negative_index_moves_by_one(tool: Any) -> None:
    changes = _changes(tool, "def f(a):\n    return a[-1]\n")
    assert changes == {("boundary", f"return a[-{number}]") for number in (0, 2)}


@pytest.mark.parametrize("call", ["a.b()", "await a()"])
def test_a_call_for_its_effect_is_dropped(tool: Any, call: str) -> None:
    assert _changes(tool, f"async def f(a):\n    {call}\n") == {("dropped call", "pass")}


def test_neighbouring_arguments_are_swapped(tool: Any) -> None:
    assert _changes(tool, "x = f(a, b + c, *d, e=g)\n") == {
        ("swapped argument", "x = f(b + c, a, *d, e=g)")
    }
    assert _changes(tool, "x = f(a, a)\n") == set()


def test_sql_and_lua_are_compared_and_counted_too(tool: Any) -> None:
    wanted = {
        ("comparison", '"SELECT a FROM b WHERE c <= d - 1"'),
        ("boundary", '"SELECT a FROM b WHERE c < d - 0"'),
        ("boundary", '"SELECT a FROM b WHERE c < d - 2"'),
    }
    assert _changes(tool, 'X = (\n"SELECT a FROM b WHERE c < d - 1"\n)\n') == wanted
    assert _changes(tool, "a <> b -- c < d\n'e < f' a->>b\n", "a.sql") == {
        ("comparison", "a = b -- c < d")
    }
    assert _changes(tool, "if a ~= b then\n", "a.lua") == {("comparison", "if a == b then")}


@pytest.mark.parametrize(
    "text",
    [
        '"""SELECT a WHERE b < c."""\n',
        '__all__ = ["a", "b"]\n',
        "def f(a: X[1] = 1) -> Y[2]: ...\n",
        "if TYPE_CHECKING:\n    f(a, b)\n",
        "def f(a, b):\n    raise E(a, b + 1)\n",
        "x = UsageError(a, b[1])\n",
        "x = logger.info(a, b[1])\n",
        "assert a < b\n",
        "x = f'{a < b}'\n",
        "x = min(a, b), isinstance(a, b)\n",
        "SIZE = 1024 * KIB\n",
        "f()\n",
        "x = True\n",
    ],
)
def test_texts_types_and_what_makes_no_difference_are_left_alone(tool: Any, text: str) -> None:
    assert _changes(tool, text) == set()


def test_a_draw_is_told_by_its_seed_and_spread_over_packages_and_kinds(tool: Any) -> None:
    draw, packages = tool("draw").draw, tool("packages").PACKAGES[:2]
    root = MUTATE.parents[1]
    drawn = draw(root, packages, 1, 8)
    assert draw(root, packages, 1, 8) == drawn
    assert draw(root, packages, 2, 8) != drawn
    assert draw(root, packages, 1, 4) == drawn[:4]
    assert [one.package.name for one in drawn] == ["rules", "compaction"] * 4
    for package in packages:
        kinds = {one.mutation.kind for one in drawn if one.package == package}
        assert kinds == set(tool("mutation").KINDS)


def test_what_is_generated_is_not_mutated(tool: Any) -> None:
    for package in tool("packages").PACKAGES[:3]:
        paths = {found.path for found in tool("draw").find(MUTATE.parents[1], package)}
        assert paths
        assert not any("_sync" in path for path in paths)


def test_what_the_table_names_is_there(tool: Any) -> None:
    root = MUTATE.parents[1]
    for package in tool("packages").PACKAGES:
        assert all((root / "src/sapwood" / folder).is_dir() for folder in package.folders)
        assert all(list(root.glob(tests)) for tests in package.tests)


def test_a_run_that_hangs_is_told_with_where_it_was(tool: Any) -> None:
    tests = tool("suite_runs").Tests(Path("/project"), 0, None)
    output = (
        "..\n!!! KeyboardInterrupt !!!\n/project/src/a.py:3: KeyboardInterrupt\n(to show ...)\n"
    )
    assert tests._hung(output) == "hung at src/a.py:3"
    assert tests._hung("..\n") == "hung"
