"""What entries cost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sapwood.compaction import entry_tokens, estimate_parts, estimate_text, history_tokens
from sapwood.rules import tokens

from .histories import said, summed_up


def test_the_stored_tokens_count_when_there_is_no_counter() -> None:
    pinned = said("pin", tokens=5)
    entries = [said("hello", tokens=7), summed_up("so far", pinned, tokens=11)]
    assert [entry_tokens(entry) for entry in entries] == [7, 16]
    assert history_tokens(entries) == 23
    assert history_tokens([]) == 0


def test_a_counter_counts_instead() -> None:
    assert history_tokens([said("a"), said("b")], lambda entry: 3) == 6


@pytest.mark.parametrize("nonsense", [-1, 1.5, None, True, "9", 2**60])
def test_a_counter_that_gives_nonsense_is_not_believed(
    nonsense: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert entry_tokens(said("hello", tokens=7), lambda entry: nonsense) == 7
    assert "stored tokens" in caplog.text


def test_a_counter_that_fails_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    def fail(entry: Any) -> int:
        raise KeyError("no tokenizer")

    with caplog.at_level(logging.WARNING):
        assert entry_tokens(said("hello", tokens=7), fail) == 7
    assert "no tokenizer" in caplog.text


def test_the_estimates_are_those_of_the_session() -> None:
    assert estimate_text is tokens.estimate_text
    assert estimate_parts is tokens.estimate_parts
