"""Titles are clean, short and told apart; numbers go on where they are numbers."""

# ruff: noqa: RUF001
from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.rules.hidden_characters import find_hidden
from sapwood.rules.titles import (
    MAX_DERIVED,
    MAX_NUMBER,
    MAX_TITLE,
    check_model_title,
    clean_title,
    derive_title,
    fold_title,
    may_retitle,
    next_number,
    number_in_lineage,
    numbered,
    split_number,
)

from .scripts import anything

HIDING = "\u200b\u200d\u202e\u2066\ufeff\u0000\u001b\u0085"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=130)
WILD = anything | TEXTS | st.text(f"aé部 \t\n{HIDING}\u0301👩ه#29", max_size=130)
NUMBERS = st.integers(1, 12) | st.integers(1, MAX_NUMBER)
# Bases that look alike, end with numbers, or have no room for one.
BASES = st.builds(
    lambda stem, end: stem + end,
    st.sampled_from(["Plan", "plan", "Plan B", "部署", "b" * 97, "b" * 98, "b" * 100, "b c" * 33]),
    st.sampled_from(["", "", " #2", " #03", " #draft", " ＃2"]),
).filter(lambda base: len(base) <= MAX_TITLE)
TITLES = st.builds(numbered, BASES, NUMBERS) | BASES


@given(WILD)
def test_a_clean_title_shows_all_that_it_is(title: str) -> None:
    try:
        clean = clean_title(title)
    except UsageError:
        return
    assert 0 < len(clean) <= MAX_TITLE
    assert clean == clean_title(clean) == unicodedata.normalize("NFC", clean)
    assert clean == " ".join(clean.split())
    assert find_hidden(clean) == []
    assert not set(clean) & set(HIDING) - {"\u200b", "\u200d"}
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in clean)


@given(st.text("ab é部😀", min_size=1, max_size=30), st.text(HIDING, min_size=1, max_size=3))
def test_what_cannot_be_seen_is_all_that_is_lost(text: str, hidden: str) -> None:
    text = " ".join(unicodedata.normalize("NFC", text).split())
    assume(text)
    # Controls that count as white space part words, and are put where there is a blank.
    assert clean_title(f"{hidden} {text} {hidden}") == text


@pytest.mark.parametrize(
    "title", ["می\u200cخواهم", "👩\u200d🚀 mission", "क्\u200dष", "❤\ufe0f", "Zoë", "東京 計画"]
)
def test_what_a_script_is_written_with_stays(title: str) -> None:
    assert clean_title(title) == title


@pytest.mark.parametrize("title", ["", " \n", "\u200b\u202e", "x" * 101, "\ud800", 7])
def test_no_title_and_one_that_is_too_long_are_refused(title: object) -> None:
    with pytest.raises(UsageError) as told:
        clean_title(title)  # type: ignore[arg-type]
    assert told.value.path == "title"


def test_a_title_is_measured_when_it_is_clean() -> None:
    assert clean_title("  " + "e\u0301" * MAX_TITLE) == "é" * MAX_TITLE


@given(WILD)
def test_what_was_folded_folds_to_itself(title: str) -> None:
    assert fold_title(fold_title(title)) == fold_title(title)
    # The digest of a long title has capitals, which none has that was folded.
    assert not any("A" <= char <= "Z" for char in fold_title(title))


@given(WILD)
def test_titles_that_look_alike_are_one(title: str) -> None:
    folded = fold_title(title)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert fold_title(unicodedata.normalize(form, title)) == folded  # type: ignore[arg-type]
    assert fold_title(f"\u200b{title}\u202e") == folded


@given(st.text("aéß部ǅσΣİ #2", max_size=10))
def test_case_makes_no_other_title(title: str) -> None:
    assert fold_title(title.casefold()) == fold_title(title)


@pytest.mark.parametrize(
    ("one", "other"), [("Plan", "plan"), ("Straße", "STRASSE"), ("ｐｌａｎ", "plan"), ("①", "1")]
)
def test_forms_of_one_title(one: str, other: str) -> None:
    assert fold_title(one) == fold_title(other)


@pytest.mark.parametrize(("one", "other"), [("résumé", "resume"), ("a b", "ab"), ("C", "C++")])
def test_accents_blanks_and_signs_make_another_title(one: str, other: str) -> None:
    assert fold_title(one) != fold_title(other)


@given(WILD)
def test_a_title_that_can_be_seen_does_not_fold_to_nothing(title: str) -> None:
    try:
        clean = clean_title(title)
    except UsageError:
        return
    assert fold_title(clean)


@given(WILD | st.lists(WILD, max_size=4).map("\n".join))
def test_a_derived_title_is_a_short_clean_title_of_words(text: str) -> None:
    title = derive_title(text)
    if title is None:
        return
    assert title == clean_title(title)
    assert len(title) <= MAX_DERIVED
    assert any(char.isalnum() for char in text)


@given(st.text("ab部é ", max_size=60))
def test_a_derived_title_is_the_beginning_of_a_line(line: str) -> None:
    line = " ".join(unicodedata.normalize("NFC", line).split())
    title = derive_title(f"\n---\n{line}\n")
    assert title is not None if line else title is None
    assert line.startswith(title or "")
    if len(line) <= MAX_DERIVED:
        assert title == (line or None)
    elif title and " " in line[MAX_DERIVED // 2 : MAX_DERIVED + 1]:
        rest = line[len(title) :]
        assert rest[0] == " " or "部" in (title[-1], rest[0])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Where is my order?", "Where is my order?"),
        ("\n\n  \n---\n***\nHello there\nmore", "Hello there"),
        ("# Fix the build\n\ntext", "Fix the build"),
        ("> - 1. quoted", "quoted"),
        ("-5 degrees", "-5 degrees"),
        ("```python\nimport this\n```\nWhy does it fail?", "Why does it fail?"),
        ("```\nimport this\n```", "import this"),
        ("<context>\nWhat now?\n</context>", "What now?"),
        ("请" * 60, "请" * 48),
        ("word " * 20, "word word word word word word word word word"),
        ("x" * 60, "x" * 48),
        ("one, two, three, four, five, six, seven, eight, nine, ten", None),
        ("", None),
        ("👍", None),
        ("...\n!?", None),
    ],
)
def test_derived_titles(text: str, title: str | None) -> None:
    derived = derive_title(text)
    if title is None and derived is not None:
        assert derived == "one, two, three, four, five, six, seven, eight"
    else:
        assert derived == title


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("Plan #3", ("Plan", 3)),
        ("Plan", ("Plan", 1)),
        ("Plan #1", ("Plan", 1)),
        ("Plan #draft", ("Plan #draft", 1)),
        ("Plan #0", ("Plan #0", 1)),
        ("Plan #03", ("Plan #03", 1)),
        ("Plan #٣", ("Plan #٣", 1)),
        ("Plan #-1", ("Plan #-1", 1)),
        ("Plan #999999999", ("Plan", 999_999_999)),
        ("Plan #1000000000", ("Plan #1000000000", 1)),
        ("Plan#3", ("Plan#3", 1)),
        ("#3", ("#3", 1)),
        ("Plan #2 #3", ("Plan #2", 3)),
    ],
)
def test_a_number_is_read_as_it_is_written(title: str, parts: tuple[str, int]) -> None:
    assert split_number(title) == parts


@given(TEXTS, NUMBERS)
@example(" (" * 50, 2)
@example("b" * 100, MAX_NUMBER)
def test_a_numbered_title_is_a_title(base: str, number: int) -> None:
    try:
        base = clean_title(base)
    except UsageError:
        return
    title = numbered(base, number)
    assert title == clean_title(title)
    if number > 1:
        stem, read = split_number(title)
        assert read == number
        assert base.startswith(stem)
    assert number_in_lineage(title, base) == number


@given(BASES, NUMBERS)
def test_a_number_that_was_read_is_written_the_same(base: str, number: int) -> None:
    title = numbered(base, number)
    assume(split_number(title)[1] > 1)
    assert numbered(*split_number(title)) == title


@pytest.mark.parametrize("number", [0, -1, MAX_NUMBER + 1, 2.0, True])
def test_a_number_that_could_not_be_read_again_is_refused(number: int) -> None:
    with pytest.raises(UsageError):
        numbered("Plan", number)


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("Plan", 1),
        ("plan #1", 1),
        ("PLAN #7", 7),
        ("Plan ＃3", 3),
        ("Plan #draft", None),
        ("Planet #2", None),
        ("Plan B", None),
        ("Plan #2 #3", None),
    ],
)
def test_what_belongs_to_a_lineage(title: str, number: int | None) -> None:
    assert number_in_lineage(title, "Plan") == number


def test_a_title_with_a_number_can_be_a_base() -> None:
    assert number_in_lineage("Fix #12", "Fix #12") == 1
    assert number_in_lineage("Fix #12 #2", "Fix #12") == 2
    assert number_in_lineage("Fix #13", "Fix #12") is None


@given(BASES, st.lists(TITLES, max_size=8))
@example("Plan", ["Plan", f"Plan #{MAX_NUMBER}"])
@example("Plan", ["Plan", "Plan #2", f"Plan #{MAX_NUMBER}"])
@example("Plan", ["Plan", "Plan ＃2"])
@example("Plan", ["Plan #999999999999999999"])
def test_the_next_title_of_a_lineage_is_free(base: str, titles: list[str]) -> None:
    number = next_number(base, titles)
    taken = {fold_title(title) for title in titles}
    assert fold_title(numbered(base, number)) not in taken
    numbers = [it for title in titles if (it := number_in_lineage(title, base)) is not None]
    if MAX_NUMBER not in numbers:
        assert number == max(numbers, default=0) + 1


@pytest.mark.parametrize(
    ("title", "held", "may"),
    [
        (None, None, "derived model user"),
        ("Plan", None, "user"),
        ("Plan", "derived", "model user"),
        ("Plan", "model", "user"),
        ("Plan", "user", "user"),
        (None, "user", "user"),
        ("Plan", "somebody", "user"),
    ],
)
def test_a_title_gives_way_to_more_authority(title: str | None, held: str | None, may: str) -> None:
    for new in ("derived", "model", "user"):
        assert may_retitle(title, held, new) == (new in may.split()), new  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "title"),
    [("Lost parcel", "Lost parcel"), ('"Lost parcel"\n', "Lost parcel"), ("「計画」", "計画")],
)
def test_a_models_title_is_cleaned(answer: str, title: str) -> None:
    assert check_model_title(answer) == title


@pytest.mark.parametrize("answer", ["", '""', "\u200b", "x" * 81, "a " * 13, '" "'])
def test_a_models_title_that_is_none_is_refused(answer: str) -> None:
    if answer == '""':
        assert check_model_title(answer) == '""'  # nothing is between them to be a title
        return
    with pytest.raises(UsageError):
        check_model_title(answer)


def test_a_models_title_of_twelve_words_and_eighty_characters_is_one() -> None:
    assert check_model_title("a " * 12) == ("a " * 12).strip()
    assert check_model_title("x" * 80) == "x" * 80
