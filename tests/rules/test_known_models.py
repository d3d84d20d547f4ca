"""Prices of models, of no other model, and tables of one's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import Usage
from sapwood.rules.known_models import KnownModel, ModelTable

TABLE = ModelTable()


@pytest.mark.parametrize(
    ("model", "is_known"),
    [
        ("gpt-5", True),
        ("gpt-5-2025-08-07", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-haiku-4-5@20251001", True),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("gpt-5-latest", True),
        ("gpt-5-pro", False),
        ("gpt-5.6-sol", False),
        ("claude-fable-5-2", False),
        ("claude-opus-6", False),
    ],
)
def test_a_price_is_of_a_model_and_its_versions_and_of_no_other(model: str, is_known: bool) -> None:
    assert TABLE.knows_price(model) is is_known
    usage = Usage(id="c1", model=model, input_tokens=1_000_000)
    assert (TABLE.cost(usage) > 0) is is_known


def test_what_the_cache_held_costs_what_it_costs_there() -> None:
    table = ModelTable({"mine": KnownModel(input=1, cached=0.1, output=5)})
    usage = Usage(id="c1", model="mine", input_tokens=100, cached_tokens=40, output_tokens=10)
    assert table.cost(usage) == 60 + 4 + 50
    plain = ModelTable({"mine": KnownModel(input=1, output=5)})
    assert plain.cost(usage) == 100 + 50


@given(*(st.integers(0, 10**9) for _ in range(3)), *(st.floats(0, 1000) for _ in range(3)))
def test_a_cost_is_never_negative_and_the_cache_never_makes_it_dearer(
    input: int, cached: int, output: int, price: float, saving: float, out: float
) -> None:
    table = ModelTable({"m": KnownModel(input=price, cached=max(0, price - saving), output=out)})
    usage = Usage(id="c", model="m", input_tokens=input, cached_tokens=cached, output_tokens=output)
    assert 0 <= table.cost(usage) <= round(input * price + output * out) + 1


def test_a_table_of_ones_own_comes_first_and_the_rest_stays() -> None:
    table = ModelTable.parse('["gpt-5-mini"]\nwindow = 1000\n["qwen3:8b"]\nwindow = 40960\n')
    assert [table.window(it) for it in ("gpt-5-mini", "qwen3:8b", "gpt-5")] == [1000, 40960, 400000]
    assert not table.knows_price("gpt-5-mini")


@pytest.mark.parametrize(
    "text",
    ["[a", "[a]\nwindow = 0", "[a]\nwindow = 'x'", "[a]\ninput = -1", "[a]\nprice = 1", "a = 1"],
)
def test_a_table_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="the table of models is wrong"):
        ModelTable.parse(text)
