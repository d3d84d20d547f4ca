"""The pages hang together: links lead somewhere, and nothing is said about this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .blocks import PAGES, ROOT, name_of

LINK = re.compile(r"\]\(([^)\s]+)\)")
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
