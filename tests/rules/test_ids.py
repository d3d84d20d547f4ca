"""Ids sort by the time they were made; names keep their limits."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.rules.ids import MAX_NAME_BYTES, IdMaker, check_name

moments = st.integers(0, 2**55)


def maker_at(times: Iterator[int]) -> IdMaker:
    # The largest entropy first: order must not come from it.
    entropy = iter(range(2**64 - 1, 0, -1))
    return IdMaker(lambda: next(times), lambda size: next(entropy).to_bytes(size, "big"))


@given(st.lists(moments, min_size=2, max_size=30))
def test_ids_sort_by_the_time_they_were_made(times: list[int]) -> None:
    times.sort()
    make = maker_at(iter(times))
    ids = [make() for _ in times]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


@given(st.lists(moments, min_size=2, max_size=30))
def test_ids_stay_in_order_when_the_clock_goes_backwards(times: list[int]) -> None:
    make = maker_at(iter(times))
    ids = [make() for _ in times]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


@given(st.lists(st.tuples(moments, st.integers(0, 5)), min_size=2, max_size=30))
def test_a_batchs_ids_stand_where_it_was_made(asked: list[tuple[int, int]]) -> None:
    make = maker_at(iter([time for at, _ in asked for time in (at, at)]))
    ids = [id for _, count in asked for id in (*make.next(count), make())]
    assert ids == sorted(set(ids))


def test_ids_sort_within_one_microsecond() -> None:
    make = maker_at(iter([5] * 1_000))
    ids = [make() for _ in range(1_000)]
    assert ids == sorted(set(ids))


@given(moments, moments)
def test_ids_of_different_makers_sort_by_time(one: int, other: int) -> None:
    ids = sorted([(maker_at(iter([at]))(), at) for at in (one, other)])
    assert [at for _, at in ids] == sorted([one, other])


def test_an_id_is_thirty_hexadecimal_digits_that_begin_with_the_time() -> None:
    make = IdMaker(lambda: 0x61234567890AB, lambda size: b"\xab" * size)
    assert make() == "061234567890ab" + "ab" * 8


def test_a_clock_before_1970_makes_ids_too() -> None:
    make = maker_at(iter([-5, -4, 3]))
    ids = [make() for _ in range(3)]
    assert ids == sorted(ids)
    assert all(re.fullmatch("[0-9a-f]{30}", id) for id in ids)


def test_ids_are_unique_over_threads_and_makers() -> None:
    makers = [IdMaker(lambda: 1, os.urandom) for _ in range(2)]
    made: list[list[str]] = [[] for _ in range(8)]

    def work(index: int) -> None:
        make = makers[index % 2]
        made[index] = [id for _ in range(500) for id in (make(), *make.next(3))]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == sorted(ids) for ids in made)
    assert len({id for ids in made for id in ids}) == 16_000


class SlowMoment(int):
    """A time during whose comparison another thread gets its turn."""

    def __gt__(self, other: int) -> bool:
        later = int(self) > other
        time.sleep(0.005)
        return later


def test_a_makers_threads_never_share_a_time() -> None:
    make = IdMaker(lambda: SlowMoment(1), lambda size: bytes(size))
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.append(make())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == len(made) == 8


@pytest.mark.parametrize(
    "value",
    ["a", " ", "x" * 256, "é" * 128, "漢" * 85, "👍" * 64, "a/b:c@d", "..", "ROOT", "\u200b"],
)
def test_a_name_is_1_to_256_bytes(value: str) -> None:
    check_name(value, "label")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "label is empty"),
        ("x" * 257, "label has 257 bytes"),
        ("é" * 129, "label has 258 bytes"),
        ("漢" * 86, "label has 258 bytes"),
        ("👍" * 65, "label has 260 bytes"),
        ("a\nb", "control character"),
        ("a\x00", "control character"),
        ("\x1b[31m", "control character"),
        ("a\x7f", "control character"),
        ("é\x85", "control character"),
        ("a\ud800", "lone surrogate"),
        ("\udfff" * 300, "lone surrogate"),
        (None, "must be a string, not None"),
        (5, "must be a string, not an int"),
        (b"a", "must be a string, not bytes"),
        (["a"], "must be a string, not a list"),
    ],
)
def test_any_other_name_is_refused_and_told_why(value: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        check_name(value, "label")
    assert caught.value.path == "label"
    assert str(caught.value).encode()


@given(st.text(st.characters(), max_size=300) | st.text(max_size=5))
def test_a_name_is_refused_exactly_beyond_its_limits(value: str) -> None:
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        size = -1
    controls = [char for char in value if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
    fine = 1 <= size <= MAX_NAME_BYTES and not controls
    if fine:
        check_name(value, "label")
    else:
        with pytest.raises(UsageError):
            check_name(value, "label")


def test_a_role_is_a_name() -> None:
    check_name("user", "role")
    for value in ("", "a\n", "x" * 257):
        with pytest.raises(UsageError) as caught:
            check_name(value, "role")
        assert caught.value.path == "role"
