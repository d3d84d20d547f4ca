"""A model is known by the beginning of its name, whoever serves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.windows import WINDOWS, window_of

BEFORE = st.sampled_from(["", "openai/", "openrouter/x-ai/", "us.anthropic.", "models/"])
AFTER = st.sampled_from(["", "-2025-01-01", "-mini", ":latest", "@001", "-v1:0"])


@given(st.sampled_from(sorted(WINDOWS)), BEFORE, AFTER, st.booleans())
def test_what_stands_around_a_name_does_not_matter(
    name: str, before: str, after: str, is_upper: bool
) -> None:
    model = before + (name.upper() if is_upper else name) + after
    # With what follows it, a name may be a longer one of the table.
    longer = [it for it in WINDOWS if (name + after).startswith(it)]
    assert window_of(model) == WINDOWS[max(longer, key=len)]


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4o-mini", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-5-mini", 400_000),
        ("gpt-5.1-codex", 400_000),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", 200_000),
        ("models/gemini-2.5-pro", 1_048_576),
        ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
    ],
)
def test_windows_of_models(model: str, window: int) -> None:
    assert window_of(model) == window


@pytest.mark.parametrize("model", [None, "", "gpt-45", "o1x", "my-gpt-4", "o", "claudette", "/"])
def test_a_model_that_is_not_in_the_table_has_no_window(model: str | None) -> None:
    assert window_of(model) is None


def test_names_are_written_small_and_windows_are_some() -> None:
    for name, window in WINDOWS.items():
        assert name == name.lower()
        assert window >= 8_000
