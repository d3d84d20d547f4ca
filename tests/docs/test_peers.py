"""The page about other packages says what was measured."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .blocks import ROOT

PEERS = ROOT / "bench" / "peers"
NAMES = {
    "openai-agents SQLiteSession",
    "openai-agents AdvancedSQLiteSession",
    "google-adk SqliteSessionService",
    "langgraph AsyncSqliteSaver",
    "agno SqliteDb",
}
WORKS = 11
COMPACTED = {
    "400 messages, compacted every 50",
    "bytes written for 400 messages, compacted every 50",
}
TURN = "a turn with a scripted model"
RUNNING = {"openai-agents SQLiteSession", "pydantic-ai Agent"}
"""Those whose loop is compared; pydantic-ai stores nothing."""
COMPACTING = {"openai-agents SQLiteSession", "langgraph AsyncSqliteSaver"}


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bench_peers_{name}", PEERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((PEERS / "latest.json").read_text())
    return loaded


def test_the_page_says_what_was_measured(found: dict[str, Any]) -> None:
    page = module("page")
    text = (ROOT / "docs" / "peers.md").read_text()
    assert page.measured_in(text) == page.measured(found)


def test_the_chart_shows_what_was_measured(found: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "peers.svg").read_text() == module("chart").draw(found["rows"])


def test_readme_says_what_was_measured(found: dict[str, Any]) -> None:
    assert module("brief").brief(found["rows"]) in (ROOT / "README.md").read_text()


def test_a_text_is_put_between_its_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- begin -->\nold\n<!-- end -->\nbelow\n")
    module("page").write_between(page, "<!-- begin -->\nnew\n<!-- end -->")
    assert page.read_text() == "above\n<!-- begin -->\nnew\n<!-- end -->\nbelow\n"


def test_every_package_has_every_row(found: dict[str, Any]) -> None:
    rows = {(row["work"], row["package"]) for row in found["rows"]}
    works = {row["work"] for row in found["rows"]} - COMPACTED - {TURN}
    compared = {row for row in rows if row[0] in works}
    assert compared == {(work, name) for work in works for name in NAMES}
    assert len(works) == WORKS


def test_those_that_compact_are_compared_in_it(found: dict[str, Any]) -> None:
    rows = {(row["work"], row["package"]) for row in found["rows"] if row["work"] in COMPACTED}
    works = {work for work, _ in rows}
    assert rows == {(work, name) for work in works for name in COMPACTING}
    # What was measured before there was a compaction has none of them.
    assert works in (set(), COMPACTED)


def test_the_loops_are_compared_in_a_turn(found: dict[str, Any]) -> None:
    rows = {row["package"] for row in found["rows"] if row["work"] == TURN}
    # What was measured before there was an agent has none of them.
    assert rows in (set(), RUNNING)


def test_a_page_and_a_chart_can_be_made_of_a_work_that_few_are_compared_in(
    found: dict[str, Any],
) -> None:
    few = [
        {**row, "work": work}
        for work in sorted(COMPACTED)
        for row in found["rows"][:5]
        if row["package"] in COMPACTING
    ]
    told = module("page").measured({**found, "rows": [*found["rows"], *few]})
    assert all(f"### {work[0].upper()}{work[1:]}\n" in told for work in COMPACTED)
    assert module("chart").draw(few).startswith("<svg")


def test_who_is_ahead_follows_from_the_figures(found: dict[str, Any]) -> None:
    for row in found["rows"]:
        if not row["can"]:
            assert (row["peer"], row["ahead"]) == (None, None)
        else:
            assert row["ahead"] == (row["ratio"] is not None and row["ratio"] > 1)


def test_ours_landed_every_message(found: dict[str, Any]) -> None:
    told = [row["ours_landed"] for row in found["rows"] if row["ours_landed"]]
    assert told
    assert all(of.split(" of ")[0] == of.split(" of ")[1] for of in told)
