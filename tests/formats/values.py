"""What the values of all formats are made of, and how they are compared."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from hypothesis import strategies as st

from sapwood.testing.strategies import json_objects, json_values, unicode_text

Json = dict[str, Any]

texts = unicode_text | st.sampled_from(["", " ", "Where is my order?", '{"a": 1}'])
ids = st.text("abcXYZ019_-", min_size=1, max_size=12)
tool_names = st.sampled_from(["search", "get_weather", "run-code", "a"])
urls = st.sampled_from(["https://example.com/a.png", "http://example.com/b?x=1", "gs://c/d"])
base64s = st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode())
odd_base64s = base64s | st.sampled_from(["AB==", "QUJD\n", "not base64!", "QUI", ""])

extras = st.dictionaries(
    unicode_text | st.sampled_from(["set", "drop", "within", "extra", "anthropic", "x_1"]),
    json_values,
    max_size=2,
)
"""Fields that nobody told us of."""

arguments = st.one_of(
    json_objects.map(lambda value: msgspec.json.encode(value).decode()),
    st.sampled_from(["", " ", "{", "null", '"a"', '{"a": 1}', '{"a":1,"a":2}', "[1e400]", "NaN"]),
    st.sampled_from(["[" * 600 + "]" * 600, '{"n":123456789012345678901234567890}', "1.0", "True"]),
    unicode_text,
)


def shaped(required: Json, optional: Json | None = None) -> st.SearchStrategy[Json]:
    """Make objects with these fields, and some that are not known."""
    known = {*required, *(optional or {})}
    fields = st.fixed_dictionaries(required, optional=optional or {})
    return st.tuples(extras, fields).map(
        lambda both: {**{k: v for k, v in both[0].items() if k not in known}, **both[1]}
    )


def just(value: Any) -> st.SearchStrategy[Any]:
    return st.just(value)


def encoded(value: Any) -> bytes:
    """Give JSON that differs wherever two values do; to Python 1, 1.0 and True are the same."""
    return msgspec.json.encode(value, order="deterministic")
