"""A key and its text are inverse for every text; isolation sets apart what it says, and no more."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import EVERY, Isolation, SessionKey

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
TRICKY = st.text("a:%3A25*\n\x85é部", min_size=1, max_size=4)
PARTS = TEXTS | TRICKY | st.sampled_from(["@bob:srv.org", "%3A", "%", ":", EVERY])
KEYS = st.builds(SessionKey, PARTS, PARTS, PARTS, st.none() | PARTS)
ISOLATIONS = st.builds(
    Isolation,
    by_agent=st.booleans(),
    by_channel=st.booleans(),
    by_peer=st.booleans(),
    by_thread=st.booleans(),
)


@given(KEYS)
@example(SessionKey("a", "matrix", "@bob:srv.org"))
def test_what_was_printed_is_read_as_the_same_key(key: SessionKey) -> None:
    assert SessionKey.parse(str(key)) == key


@given(st.text(":%3A250aé", max_size=12) | st.text(max_size=12))
@example("a:b:%3a")
@example("a:b:%41")
@example("a:b:%")
@example("::")
def test_what_is_read_as_a_key_is_printed_so(text: str) -> None:
    try:
        key = SessionKey.parse(text)
    except UsageError:
        return
    assert str(key) == text


@given(st.lists(TRICKY, min_size=3, max_size=4), st.lists(TRICKY, min_size=3, max_size=4))
@example(["a:b", "c", "d"], ["a", "b:c", "d"])
@example(["a", "b", "c:d"], ["a", "b", "c", "d"])
@example(["%3A", "b", "c"], [":", "b", "c"])
def test_no_two_keys_are_printed_alike(one: list[str], other: list[str]) -> None:
    assert (str(SessionKey(*one)) == str(SessionKey(*other))) == (one == other)


@given(KEYS)
def test_a_printed_key_has_no_control_character(key: SessionKey) -> None:
    assert not any(unicodedata.category(char) == "Cc" for char in str(key))


@pytest.mark.parametrize("text", ["", "a", "a:b", "a:b:c:d:e", "a:b:c:d:", "a::c", ":b:c", "a:b:"])
def test_a_text_with_too_few_or_too_many_or_empty_parts_is_no_key(text: str) -> None:
    with pytest.raises(UsageError) as told:
        SessionKey.parse(text)
    assert told.value.path.startswith("key")


@pytest.mark.parametrize("part", ["", "\ud800", 1, None])
@pytest.mark.parametrize("at", range(3))
def test_a_part_that_is_no_text_is_told_by_its_name(part: object, at: int) -> None:
    parts: list[object] = ["a", "b", "c"]
    parts[at] = part
    with pytest.raises(UsageError) as told:
        SessionKey(*parts)  # type: ignore[arg-type]
    assert told.value.path == f"key.{('agent', 'channel', 'peer')[at]}"


@pytest.mark.parametrize("thread", ["", "\udfff", 7])
def test_a_thread_that_is_no_text_is_told_so(thread: object) -> None:
    with pytest.raises(UsageError) as told:
        SessionKey("a", "b", "c", thread)  # type: ignore[arg-type]
    assert told.value.path == "key.thread"


def test_a_key_that_is_no_string_is_told_so() -> None:
    with pytest.raises(UsageError, match="from a string"):
        SessionKey.parse(7)  # type: ignore[arg-type]


@given(KEYS)
def test_the_parts_are_those_that_there_are(key: SessionKey) -> None:
    assert SessionKey(*key.parts) == key
    assert len(key.parts) == (3 if key.thread is None else 4)
    assert {key: 1}[SessionKey(*key.parts)] == 1


def kept_parts(isolation: Isolation, key: SessionKey) -> dict[str, str | None]:
    names = ("agent", "channel", "peer", "thread")
    return {name: getattr(key, name) for name in names if getattr(isolation, f"by_{name}")}


def reduced(isolation: Isolation, key: SessionKey) -> SessionKey:
    kept = kept_parts(isolation, key)
    assume(EVERY not in [part for name, part in kept.items() if name != "thread"])
    return isolation.reduce(key)


@given(ISOLATIONS, KEYS, KEYS)
def test_keys_become_one_where_they_differ_in_what_is_switched_off(
    isolation: Isolation, one: SessionKey, other: SessionKey
) -> None:
    # Half of the pairs differ in nothing but the last two parts.
    for second in (other, SessionKey(one.agent, one.channel, other.peer, other.thread)):
        is_one = reduced(isolation, one) == reduced(isolation, second)
        assert is_one == (kept_parts(isolation, one) == kept_parts(isolation, second))


@given(ISOLATIONS, KEYS)
def test_a_reduced_key_is_a_key_and_stays_as_it_is(isolation: Isolation, key: SessionKey) -> None:
    less = reduced(isolation, key)
    assert isolation.reduce(less) == less == SessionKey.parse(str(less))


@given(ISOLATIONS, ISOLATIONS, KEYS, KEYS)
def test_keys_that_were_reduced_otherwise_are_other_keys(
    one: Isolation, other: Isolation, key: SessionKey, second: SessionKey
) -> None:
    names = ("by_agent", "by_channel", "by_peer")
    assume(any(getattr(one, name) != getattr(other, name) for name in names))
    assert reduced(one, key) != reduced(other, key)
    assert reduced(one, key) != reduced(other, second)


def test_by_default_only_threads_are_shared() -> None:
    assert Isolation().reduce(SessionKey("a", "b", "c", "d")) == SessionKey("a", "b", "c")


@pytest.mark.parametrize("at", range(3))
def test_a_part_that_looks_like_all_of_them_is_refused(at: int) -> None:
    parts = ["a", "b", "c"]
    parts[at] = EVERY
    with pytest.raises(UsageError, match=r"stands for every") as told:
        Isolation().reduce(SessionKey(*parts))
    assert told.value.path == f"key.{('agent', 'channel', 'peer')[at]}"


def test_an_isolation_is_said_by_true_and_false() -> None:
    with pytest.raises(UsageError) as told:
        Isolation(by_peer="no")  # type: ignore[arg-type]
    assert told.value.path == "isolation.by_peer"
