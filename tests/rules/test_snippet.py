"""A snippet shows the text as it was written, where most of the terms are, and marks them."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.query import Term, occurrences, parse, terms
from sapwood.rules.snippet import ELLIPSIS, WIDTH, snippet
from sapwood.rules.text import fold, fold_with_map

from .scripts import anything, mixed

PROSE = (
    "The session layer keeps a conversation as a tree. Nothing that was acknowledged is ever "
    "lost, and reading a long history costs as much as what is shown of it. When a summary is "
    "written, the messages under it stay where they are, so that it can be undone later."
)
CONTROLS = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def show(query: str, text: str, width: int = WIDTH) -> str:
    """Give the snippet with its marks in brackets."""
    shown, marks = snippet(text, terms(parse(query)), width)
    for start, end in reversed(marks):
        shown = f"{shown[:start]}[{shown[start:end]}]{shown[end:]}"
    return shown


def tidied(text: str) -> str:
    return " ".join(CONTROLS.sub("", fold_with_map(text).text).split())


def test_a_short_text_is_shown_whole() -> None:
    assert show("order", "Where is my Order?") == "Where is my [Order]?"


def test_a_long_text_is_cut_between_words_on_both_sides() -> None:
    shown = show("history", PROSE, 60)
    assert shown == "…lost, and reading a long [history] costs as much as what is…"


def test_at_the_ends_of_a_text_nothing_is_cut() -> None:
    assert show("session", PROSE, 40) == "The [session] layer keeps a conversation…"
    assert show("later", PROSE, 40) == "…are, so that it can be undone [later]."
    assert show("b", f"{' ' * 50}a b c{' ' * 50}", 20) == "a [b] c"


def test_the_place_with_the_most_terms_is_shown() -> None:
    text = f"tree {'x ' * 200} shown tree {'y ' * 200} tree"
    assert "[shown] [tree]" in show("tree shown", text, 40)
    assert show("tree shown history", PROSE, 60).count("[") == 2


def test_of_equal_places_the_first_is_shown() -> None:
    assert show("a", f"a 1 {'x ' * 100} a 2", 10).startswith("[a] 1")
    assert show("a b", f"a b 1 {'x ' * 100} a b 2", 10).startswith("[a] [b] 1")


def test_every_match_in_sight_is_marked_once() -> None:
    assert show("foo fo* OR f*", "Foo, foo and fo") == "[Foo], [foo] and [fo]"
    assert show('"foo bar" OR "bar baz"', "foo bar baz") == "[foo bar baz]"


def test_a_match_that_is_cut_off_is_not_marked() -> None:
    assert show("a", "a 部a部a部", 5) == "[a] 部[a]部…"
    assert show("部署", "部署 x 部署", 6) == "[部署] x 部…"
    assert show("a OR 部署上線完成", "a 部署上線完成", 6) == "[a] 部署上線…"


def test_without_a_match_the_beginning_is_shown() -> None:
    assert show("zebra", PROSE, 30) == "The session layer keeps a…"
    assert show("zebra", "") == ""
    assert show("zebra", " \n ") == ""


def test_blanks_are_one_and_controls_none() -> None:
    text = "  a\r\n\r\n\tfoo \x00 \x1b[31mbar\u202e  \x07b\n"
    assert show('"foo bar"', text) == "a foo [31mbar b"
    assert show("foo", text) == "a [foo] [31mbar b"
    assert snippet("a \x07 b", [Term(("\x07",))]) == ("a b", [])
    assert show('"a foo"', text) == "[a foo] [31mbar b"


def test_what_was_written_is_shown_and_not_what_is_compared() -> None:
    assert show("strasse", "In der Straße…") == "In der [Straße]…"
    assert show("cafe", "Un CAFE\u0301 s\u2019il vous plaît") == "Un [CAFÉ] s\u2019il vous plaît"
    assert show("xy", "a x\u0302y b") == "a [x\u0302y] b"
    assert show("y", "…… ß\u00ad y") == "…… ß\u00ad [y]"


def test_text_without_spaces_is_cut_anywhere() -> None:
    shown = show("部署", "我" * 100 + "部署" + "你" * 100, 20)
    assert shown == f"…{'我' * 9}[部署]{'你' * 9}…"


def test_a_long_word_is_cut_rather_than_left_out() -> None:
    shown = show("x*", "a" * 100 + " " + "x" * 300, 40)
    assert shown.startswith("…")
    assert "[x]xxxxx" in shown
    assert len(shown) <= 44


def test_a_match_that_is_wider_than_the_snippet_is_cut() -> None:
    shown, marks = snippet("y" * 300, [Term(("y" * 300,))], 40)
    assert (shown, marks) == ("y" * 40 + "…", [(0, 40)])


@pytest.mark.parametrize("unit", ["e\u0323\u0301", "👩🏽\u200d💻", "कि", "❤️"])
def test_a_character_made_of_several_is_not_torn(unit: str) -> None:
    unit = unicodedata.normalize("NFC", unit)
    for width in (*range(10, 20), *range(100, 104)):
        shown = snippet(unit * 100 + " foo " + unit * 100, [Term(("foo",))], width).text
        before, after = shown.strip("…").split("foo")
        assert before.strip() == unit * (len(before.strip()) // len(unit))
        assert after.strip() == unit * (len(after.strip()) // len(unit))


@given(mixed, st.lists(mixed, max_size=4), st.integers(5, 200))
def test_a_snippet_is_a_passage_of_the_text_with_its_marks(
    text: str, queries: list[str], width: int
) -> None:
    looked_for = [Term((word,)) for query in queries for word in fold(query).split()]
    shown, marks = snippet(text, looked_for, width)
    assert shown == snippet(text, looked_for, width, folded=fold(text)).text
    assert shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS) in tidied(text) or (
        shown.strip(ELLIPSIS) in tidied(text)
    )
    assert CONTROLS.search(shown) is None
    done = 0
    for start, end in marks:
        assert done <= start < end <= len(shown)
        assert not shown[start].isspace()
        done = end


@given(anything, mixed, mixed)
def test_a_match_is_shown_and_marked_with_its_own_text(word: str, before: str, after: str) -> None:
    for literal in fold(word).split()[:1]:
        term = Term((literal,))
        text = f"{before * 5} {word} {after * 5}"
        found = [*occurrences(term, fold(text))]
        shown, marks = snippet(text, [term])
        if not found or not CONTROLS.sub("", literal):
            continue
        assert marks
        for start, end in marks:
            assert CONTROLS.sub("", literal) in fold(shown[start:end])


@given(st.text("ab \n", max_size=400), st.integers(5, 100))
def test_a_snippet_keeps_to_its_width(text: str, width: int) -> None:
    shown = snippet(text, [Term(("a",))], width).text
    assert len(shown) <= width + 2
