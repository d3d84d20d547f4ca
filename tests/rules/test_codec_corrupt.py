"""What is stored but cannot be read is told, and named."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import StoreCorruptError
from sapwood.model import FilePart
from sapwood.rules.codec import decode_body, decode_json

from .bodies import relaxed

IMAGE = b'{"parts":[{"type":"file","media_type":"a/b"}]}\0\x81\x00\xc4\x01x'


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
        b'{"parts":[]}\0',
        b'{"parts":[]}\0\x81\x00\xc4\x01x',
        b'{"parts":[{"type":"text","text":""}]}\0\x81\x00\xc4\x01x',
        IMAGE.replace(b"\x81\x00", b"\x81\xff"),
        IMAGE[:-1],
        IMAGE + b"\0",
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


def test_a_body_with_a_file_is_none_of_these() -> None:
    assert decode_body(IMAGE, "m-17").parts == [FilePart(media_type="a/b", data=b"x")]


@relaxed
@given(st.binary() | st.text().map(str.encode))
def test_a_damaged_body_is_never_another_error(data: bytes) -> None:
    with suppress(StoreCorruptError):
        decode_body(data, "m-17")
