"""What is stored but cannot be read is told, and named."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import StoreCorruptError
from sapwood.rules.codec import decode_body, decode_json

from .bodies import relaxed


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"parts":5}',
        b'{"parts":[{"type":"unheard of"}]}',
        b'{"parts":[{"type":"text"}]}',
        b'{"parts":[{"type":"text","text":"\xff"}]}',
        b'{"parts":[{"type":"file","media_type":"a","data":"%"}]}',
        b'{"parts":[],"metadata":[]}',
        b'{"parts":[]}trailing',
        b'{"parts":[],"metadata":{"a":' + b"[" * 100_000,
        b"\x00\x01\x02",
        None,
    ],
)
def test_a_body_that_cannot_be_decoded_is_corrupt_and_named(data: Any) -> None:
    with pytest.raises(StoreCorruptError, match="message m-17 "):
        decode_body(data, "m-17")


@pytest.mark.parametrize("data", [b"", b"{", b'"\xff"', b"nan", b"[" * 100_000, None])
def test_json_that_cannot_be_decoded_is_corrupt_and_named(data: Any) -> None:
    with pytest.raises(StoreCorruptError, match="data of session s-1 "):
        decode_json(data, "data of session s-1")


@relaxed
@given(st.binary() | st.text().map(str.encode))
def test_a_damaged_body_is_never_another_error(data: bytes) -> None:
    with suppress(StoreCorruptError):
        decode_body(data, "m-17")
