"""Names made of keys and titles fit their limits, and are as different as what they name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sapwood.model import SessionKey
from sapwood.rules.ids import MAX_NAME_BYTES, check_key, check_name
from sapwood.rules.keys import owner_of, route_key, title_key
from sapwood.rules.titles import MAX_TITLE, fold_title

from .scripts import anything

SHORT = st.text("a:%é\n", min_size=1, max_size=3)
# Some fit no document's key, so that a digest stands for them.
PARTS = SHORT | st.builds(lambda part, count: part * count, SHORT, st.integers(80, 400))
KEYS = st.builds(SessionKey, PARTS, PARTS, PARTS, st.none() | PARTS)
LONG = SessionKey("a" * 2000, "b", "c")


@given(KEYS)
def test_a_route_has_a_key_that_every_store_takes(key: SessionKey) -> None:
    check_key(route_key(key), "key")
    check_name(owner_of(key), "owner")


@given(KEYS, KEYS)
def test_different_keys_have_different_routes(one: SessionKey, other: SessionKey) -> None:
    assert (route_key(one) == route_key(other)) == (one == other)


@given(KEYS, KEYS)
def test_an_owner_is_one_agent_channel_and_peer(one: SessionKey, other: SessionKey) -> None:
    for second in (other, SessionKey(*one.parts[:3], *other.parts[3:])):
        assert (owner_of(one) == owner_of(second)) == (one.parts[:3] == second.parts[:3])


def test_a_route_can_be_read_until_it_is_too_long() -> None:
    assert route_key(SessionKey("a", "b", "c", "d")) == "route/a:b:c:d"
    assert len(route_key(LONG)) < 100
    fits = SessionKey("a" * (1024 - len("route/:b:c")), "b", "c")
    assert route_key(fits) == f"route/{fits}"
    assert len(route_key(fits)) == 1024
    assert route_key(SessionKey(fits.agent + "a", "b", "c")) != f"route/{fits}"[:1024]


def test_an_owner_can_be_read_until_it_is_too_long() -> None:
    fits = SessionKey("a" * (MAX_NAME_BYTES - len(":b:c")), "b", "c")
    assert owner_of(fits) == str(fits)
    assert len(owner_of(LONG)) < 100


@pytest.mark.parametrize("name", [route_key, owner_of])
def test_no_key_is_printed_like_anothers_digest(name: Callable[[SessionKey], str]) -> None:
    digest = name(LONG).removeprefix("route/")
    assert ":" not in digest


@given(st.text(st.characters(codec="utf-8"), max_size=MAX_TITLE))
def test_a_title_has_a_key_that_every_store_takes(title: str) -> None:
    assume(fold_title(title))
    check_key(title_key(title), "key")


@given(anything, anything)
def test_titles_have_one_key_when_they_fold_alike(one: str, other: str) -> None:
    assert (title_key(one) == title_key(other)) == (fold_title(one) == fold_title(other))


def test_a_long_title_is_known_by_a_digest_which_no_title_looks_like() -> None:
    long = "\ufdfa" * MAX_TITLE  # one character, of which NFKC makes eighteen
    key = title_key(long)
    assert len(key) < 100
    assert title_key(key.removeprefix("title/")) != key
