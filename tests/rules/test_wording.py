"""What errors name is named in English."""

from __future__ import annotations

import pytest

from sapwood.rules.wording import a_kind, counted, did_you_mean, with_article


@pytest.mark.parametrize(
    ("value", "named"),
    [(5, "an int"), ({}, "a dict"), (b"", "bytes"), (ValueError(), "a ValueError")],
)
def test_a_type_has_its_article(value: object, named: str) -> None:
    assert a_kind(value) == named


@pytest.mark.parametrize(
    "noun", ["a Usage", "a unit", "a UUID", "a URL", "an uninvited", "an Anchor"]
)
def test_a_word_that_is_spoken_with_you_has_no_vowels_article(noun: str) -> None:
    assert with_article(noun.partition(" ")[2]) == noun


def test_a_number_goes_with_its_noun() -> None:
    assert [counted(n, "session") for n in (0, 1, 2)] == ["0 sessions", "1 session", "2 sessions"]


def test_the_nearest_word_is_asked_for_and_no_other() -> None:
    assert did_you_mean("asistant", ["user", "assistant"]) == ": did you mean 'assistant'?"
    assert did_you_mean("narrator", ["user", "assistant"]) == ""
