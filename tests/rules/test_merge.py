"""Merge patches, as RFC 7396 has them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from sapwood.rules.merge import merge_json
from sapwood.testing import strategies

CASES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "merged"), CASES)
def test_a_patch_is_merged_as_the_standard_says(target: Any, patch: Any, merged: Any) -> None:
    before = copy.deepcopy(target)
    assert merge_json(target, patch) == merged
    assert target == before


@given(target=strategies.json_objects, patch=strategies.json_objects)
def test_a_patch_that_is_merged_again_changes_nothing(
    target: dict[str, Any], patch: dict[str, Any]
) -> None:
    once = merge_json(target, patch)
    assert merge_json(once, patch) == once
    untouched = {name: value for name, value in target.items() if name not in patch}
    assert {name: once[name] for name in untouched} == untouched
