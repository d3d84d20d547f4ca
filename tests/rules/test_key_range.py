"""Which keys a range has: by characters, as a database has them by bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.key_range import BEYOND_ALL, KeyRange, prefix_end

LETTERS = st.sampled_from(["a", "b", "/", "é", "\ud7ff", "\ue000", "\U0010ffff"])
KEYS = st.text(LETTERS, min_size=1, max_size=4)


@given(prefix=st.text(LETTERS, max_size=3), keys=st.sets(KEYS))
def test_a_prefix_ends_before_all_keys_that_do_not_begin_with_it(
    prefix: str, keys: set[str]
) -> None:
    end = prefix_end(prefix).encode()
    found = {it for it in keys if prefix.encode() <= it.encode() < end}
    assert found == {it for it in keys if it.startswith(prefix)}


@given(
    prefix=st.text(LETTERS, max_size=2),
    keys=st.sets(KEYS),
    after=st.none() | KEYS,
    limit=st.none() | st.integers(1, 4),
    reverse=st.booleans(),
)
def test_a_range_is_what_sorting_and_cutting_gives(
    prefix: str, keys: set[str], after: str | None, limit: int | None, reverse: bool
) -> None:
    whole = sorted((it for it in keys if it.startswith(prefix)), key=str.encode, reverse=reverse)
    if after is not None:
        whole = [it for it in whole if (it < after if reverse else it > after)]
    asked = KeyRange(prefix, after, limit, reverse)
    assert asked.of(keys) == whole[:limit]
    low, is_included, high = (asked.bounds()[0].encode(), asked.bounds()[1], asked.bounds()[2])
    within = [
        it
        for it in keys
        if low <= it.encode() < high.encode() and (is_included or it.encode() > low)
    ]
    assert sorted(within, key=str.encode, reverse=reverse)[:limit] == whole[:limit]


def test_nothing_comes_after_the_last_character() -> None:
    assert prefix_end("") == prefix_end("\U0010ffff") == BEYOND_ALL
    assert len(BEYOND_ALL.encode()) > 256
