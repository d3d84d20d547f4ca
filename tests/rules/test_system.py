"""What the layers above keep of a session: merged, stored, and found by its key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from sapwood.errors import StoreCorruptError
from sapwood.model import SystemFields, SystemPatch
from sapwood.rules.system import (
    KEY_BYTES,
    MOST_PARTS,
    NO_SYSTEM,
    begins_with,
    decode_system,
    encode_system,
    key_digest,
    merged,
)

PARTS = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["a", "ab", "a:b", ""])
KEYS = st.lists(PARTS, max_size=MOST_PARTS).map(tuple)
FIELDS = st.builds(
    SystemFields,
    key=KEYS,
    life=st.integers(0, 2**60),
    next=st.none() | st.text("ab", min_size=1),
    reason=st.none() | st.text("ab", min_size=1),
)


@given(KEYS, KEYS)
def test_digests_begin_alike_where_keys_do(key: tuple[str, ...], parts: tuple[str, ...]) -> None:
    is_found = key_digest(key).startswith(key_digest(parts))
    assert is_found == (key[: len(parts)] == parts) == begins_with(key, parts)


def test_a_digest_is_as_long_as_its_key_has_parts() -> None:
    assert key_digest(()) == b""
    assert len(key_digest(("x" * 100_000,) * MOST_PARTS)) == KEY_BYTES


@given(FIELDS)
def test_fields_come_back_as_they_were_stored(fields: SystemFields) -> None:
    assert decode_system(encode_system(fields), "it") == fields


def test_what_is_nothing_is_stored_as_nothing() -> None:
    assert encode_system(NO_SYSTEM) == b"{}"
    assert decode_system(b"{}", "it") is NO_SYSTEM


@pytest.mark.parametrize("data", [b"", b"[]", b'{"key":1}', b'{"life":"x"}', b"\xff"])
def test_what_cannot_be_read_is_told_with_where_it_stands(data: bytes) -> None:
    with pytest.raises(StoreCorruptError, match="session 's'"):
        decode_system(data, "session 's'")


@given(FIELDS, FIELDS, st.sets(st.sampled_from(SystemFields.__struct_fields__)))
def test_a_patch_changes_the_fields_that_it_gives(
    held: SystemFields, wanted: SystemFields, names: set[str]
) -> None:
    fields = SystemFields.__struct_fields__
    given = {name: getattr(wanted, name) if name in names else UNSET for name in fields}
    after = merged(held, SystemPatch(**given))
    for name in fields:
        assert getattr(after, name) == getattr(wanted if name in names else held, name)
