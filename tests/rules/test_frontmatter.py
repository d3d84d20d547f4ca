"""The top of a SKILL.md."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.frontmatter import read_page


def test_fields_and_body_are_parted() -> None:
    page = read_page("---\nname: pdf\ndescription: Reads PDF files.\n---\n\n# PDF\n\nText.\n")
    assert page.fields == {"name": "pdf", "description": "Reads PDF files."}
    assert page.body == "# PDF\n\nText."


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"Use: it, # now"', "Use: it, # now"),
        ("'It''s here'", "It's here"),
        ("plain # a comment", "plain"),
        ("a: b", "a: b"),
        (">\n  two\n  lines", "two lines"),
        (">-\n  two\n  lines", "two lines"),
        ("|\n  two\n  lines", "two\nlines"),
        ("goes\n  on here", "goes on here"),
        ("", ""),
        ("中文说明", "中文说明"),
    ],
)
def test_values_are_read_as_yaml_means_them(written: str, read: str) -> None:
    page = read_page(f"---\ndescription: {written}\nname: x\n---\nbody")
    assert page.fields == {"description": read, "name": "x"}


def test_nested_values_are_passed_over() -> None:
    page = read_page("---\nmetadata:\n  author: me\n  list:\n    - a\n# note\nname: x\n---\n")
    assert page.fields["name"] == "x"


@pytest.mark.parametrize(
    "text", ["# No dashes\n", "---\nname: never closed\n", "", "text\n---\na\n"]
)
def test_without_dashes_all_of_it_is_text(text: str) -> None:
    assert read_page(text) == ({}, text)


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    page = read_page("\ufeff---\r\nname: x\r\n---\r\nbody\r\n")
    assert (page.fields, page.body) == ({"name": "x"}, "body")


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_page(text)
    read_page(f"---\n{text}\n---\n{text}")
