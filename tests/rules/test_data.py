"""Data is encoded whole, compared by what it says, and loses a field when that is erased."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import MessageTooLargeError, UsageError
from sapwood.rules.codec import Packed
from sapwood.rules.data import is_same_data, mark_of, with_data, without_field

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=3), json_values, max_size=4)


def encoded(value: dict[str, Any]) -> bytes:
    [mark] = with_data([], value, None, lambda: "ours", 10_000)
    assert mark.data is not None
    return mark.data


@given(objects)
def test_the_order_of_keys_makes_no_other_data(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert is_same_data(encoded(value), encoded(turned))


@given(objects, objects)
def test_other_data_is_other_data(one: dict[str, Any], other: dict[str, Any]) -> None:
    # True is 1 in Python, and not in JSON.
    is_same = repr(sorted(one.items())) == repr(sorted(other.items()))
    assert not is_same or is_same_data(encoded(one), encoded(other))
    assert is_same_data(encoded(one), None) is False
    assert is_same_data(None, None)


def test_true_is_not_one() -> None:
    assert not is_same_data(encoded({"n": True}), encoded({"n": 1}))


@given(objects, st.text(max_size=3))
def test_a_field_is_taken_out(value: dict[str, Any], field: str) -> None:
    data = encoded(value)
    left = without_field(data, field)
    assert (left is data) == (field not in value)
    assert is_same_data(left, encoded({name: it for name, it in value.items() if name != field}))


def test_a_mark_has_nothing_but_data() -> None:
    [ours] = with_data([], {"n": 1}, None, lambda: "made", 100)
    [given_] = with_data([], {"n": 1}, "k", lambda: "made", 100)
    assert (ours.id, ours.is_ours, given_.id, given_.is_ours) == ("made", True, "k", False)
    assert ours.is_mark
    assert ours.digest == given_.digest == mark_of("x", b"{}").digest
    assert (ours.parts, ours.body, ours.tokens) == ([], b"", 0)


def test_the_last_message_has_the_data() -> None:
    batch = [
        Packed(id=id, role="user", parts=[], metadata={}, body=b"1234", tokens=1, is_ours=False)
        for id in "ab"
    ]
    first, last = with_data(batch, {"n": 1}, None, str, 11)
    assert (first.data, last.data) == (None, b'{"n":1}')
    assert not last.is_mark
    with pytest.raises(MessageTooLargeError):
        with_data(batch, {"n": 1}, None, str, 10)


@pytest.mark.parametrize("bad", [[], None, {"n": float("nan")}, {1: 2}, {"n": "\ud800"}])
def test_what_is_no_json_object_is_refused(bad: Any) -> None:
    with pytest.raises(UsageError):
        with_data([], bad, "k", str, 100)
