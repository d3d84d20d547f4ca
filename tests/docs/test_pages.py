"""The pages hang together: links lead somewhere, and nothing is said about this machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .blocks import PAGES, ROOT, blocks_of, name_of

LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:src|tests|docs|examples|tools|bench)/[\w./]+)`")


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if link.startswith(("https://", "http://")):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{name_of(page)}: {link}"
        assert not anchor or anchor in anchors_of(file), f"{name_of(page)}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_paths_exist(page: Path) -> None:
    for path in PATH.findall(page.read_text()):
        assert (ROOT / path).exists(), f"{name_of(page)}: {path}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_speaks_of_a_machine(page: Path) -> None:
    assert not re.search(r"/(home|work|tmp|Users)/\w", page.read_text())


def test_every_page_can_be_found_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in PAGES:
        if page.parent.name == "docs" and page.name != "index.md":
            assert f"({page.name})" in index, f"docs/index.md does not link {page.name}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_link_on_the_change_feed_leads_to_what_tells_of_it(page: Path) -> None:
    for words, target in NAMED_LINK.findall(page.read_text()):
        assert words != "change feed" or target.endswith("#the-change-feed"), name_of(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_the_examples_import_is_public(page: Path) -> None:
    reference = (ROOT / "docs" / "reference.md").read_text()
    listed = reference.split("Everything else may change at any time", 1)[0]
    public = set(re.findall(r"`(sapwood[\w.]*)`", listed))
    for block in blocks_of(page):
        for name in imported_of(block.text) if block.language == "python" else ():
            is_public = any(f"{name}.".startswith(f"{it}.") for it in public)
            assert is_public or name.count(".") == 1, f"{block.place}: {name}"


def imported_of(source: str) -> Iterator[str]:
    """Give what a block imports of the package, by the whole name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "sapwood":
            yield from (f"{node.module}.{it.name}" for it in node.names)
        if isinstance(node, ast.Import):
            yield from (it.name for it in node.names if it.name.startswith("sapwood."))
