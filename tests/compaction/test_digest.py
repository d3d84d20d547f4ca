"""A summary without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import digest, estimate_text
from sapwood.errors import UsageError
from sapwood.model import Entry, FilePart

from . import histories
from .histories import call, result, said, summed_up


def conversation() -> list[Entry]:
    return [
        said("Please move the shop to Lisbon. Budget is small."),
        call("a", name="read_file", input={"path": "shop/plan.md"}),
        result("a"),
        call("b", "c", name="search", input={"q": "rent"}),
        result("b", "c"),
        said("The rent is 900 a month. It is near the river.", "assistant"),
        said("We decided to take the one by the river."),
        said([FilePart(media_type="image/png", name="shop.png")]),
        said("Noted. Should I write to the landlord?", "assistant"),
    ]


def test_it_tells_what_matters() -> None:
    text = digest(conversation(), 1_000)
    assert "First request:\n- Please move the shop to Lisbon. Budget is small." in text
    assert "We decided to take the one by the river." in text
    assert "- The rent is 900 a month." in text
    assert "Tools used: search (2), read_file (1)" in text
    assert "Files: shop/plan.md, shop.png" in text
    assert "Open questions:\n- Should I write to the landlord?" in text
    assert "Messages covered: 9" in text


def test_the_same_entries_give_the_same_digest() -> None:
    entries = conversation()
    assert digest(entries, 200) == digest(entries, 200)


def test_earlier_summaries_are_kept_in_full_when_they_fit() -> None:
    first, second = "The shop sells cork. " * 20, "The shop opens at nine."
    text = digest([summed_up(first), *conversation(), summed_up(second)], 1_000)
    assert first.strip() in text
    assert second in text


def test_earlier_summaries_that_do_not_fit_are_cut_with_a_mark() -> None:
    long = "It began in May. " + "Then more happened. " * 2_000 + "It ended in June."
    text = digest([summed_up(long), *conversation()], 300)
    assert "It began in May." in text
    assert "It ended in June." in text
    assert "characters cut" in text
    assert "First request:" in text


def test_each_of_several_long_summaries_keeps_its_share() -> None:
    texts = [f"Number {n} began. " + "More. " * 2_000 + f"Number {n} ended." for n in range(3)]
    text = digest([summed_up(each) for each in texts], 400)
    for number in range(3):
        assert f"Number {number} began." in text
        assert f"Number {number} ended." in text
    assert text.count("characters cut") == 3


def test_very_many_summaries_are_cut_together_with_a_mark() -> None:
    text = digest([summed_up(f"Summary {n}. " * 10) for n in range(100)], 100)
    assert "Summary 0." in text
    assert "Summary 99." in text
    assert "characters cut" in text


def test_the_oldest_summary_survives_a_thousand_digests() -> None:
    text = "The user is called Ada."
    for number in range(1_000):
        text = digest([summed_up(text), said(f"question {number}"), *conversation()], 200)
    assert "The user is called Ada." in text
    assert text.count("Earlier summary:") == 1


def test_a_call_without_result_is_open() -> None:
    assert "the call of deploy has no result" in digest([call("a", name="deploy")], 100)


def test_other_scripts_are_split_into_sentences_too() -> None:
    text = digest(
        [said("请部署到新加坡。然后告诉我结果。"), said("要现在部署吗\uff1f", "assistant")], 300
    )
    assert "First request:\n- 请部署到新加坡。 然后告诉我结果。" in text
    assert "Open questions:\n- 要现在部署吗" in text
    assert "Open questions:\n- هل نبدأ؟" in digest([said("هل نبدأ؟")], 300)


def test_an_answered_question_is_not_open() -> None:
    text = digest([said("Where is it?"), said("Over there.", "assistant")], 300)
    assert "Open questions" not in text


def test_nothing_gives_a_digest_that_says_so() -> None:
    assert digest([], 100) == "(nothing was said)"


@pytest.mark.parametrize("value", [0, -1, 1.5, None])
def test_a_wrong_limit_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="max_tokens"):
        digest([], value)  # type: ignore[arg-type]


@given(histories.entries, st.integers(1, 400))
def test_it_is_bounded_and_never_blank(entries: list[Entry], max_tokens: int) -> None:
    text = digest(entries, max_tokens)
    assert estimate_text(text) <= max_tokens
    assert max_tokens < 10 or text.strip()


@given(st.lists(st.text(max_size=300), min_size=1, max_size=5), st.integers(30, 300))
def test_it_is_bounded_in_any_language(texts: list[str], max_tokens: int) -> None:
    entries: list[Entry] = [
        said(text, "assistant" if at % 2 else "user") for at, text in enumerate(texts)
    ]
    entries.append(summed_up(texts[0] * 20))
    assert estimate_text(digest(entries, max_tokens)) <= max_tokens
