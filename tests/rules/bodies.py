"""Messages to encode and decode: any that JSON can say, and ways to see one refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import (
    FilePart,
    NewMessage,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.rules.codec import Packed, pack

relaxed = settings(deadline=None, max_examples=max(150, settings().max_examples))

numbers = (
    st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
)
leaves = st.none() | st.booleans() | numbers | st.text()
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)
parts = st.one_of(
    st.builds(TextPart, text=st.text(), extra=json_objects),
    st.builds(ReasoningPart, text=st.text(), extra=json_objects),
    st.builds(ToolCallPart, call_id=st.text(), name=st.text(), input=json_values),
    st.builds(ToolResultPart, call_id=st.text(), output=json_values, is_error=st.booleans()),
    st.builds(
        FilePart,
        media_type=st.text(),
        uri=st.none() | st.text(),
        data=st.none() | st.binary(),
        name=st.none() | st.text(),
        extra=json_objects,
    ),
    st.builds(OtherPart, value=json_objects),
)


def exact(value: Any) -> str:
    """Tell 1, 1.0 and True apart, as == does not; key order does not count."""
    return json.dumps(value, sort_keys=True)


def packed(
    *parts: Any, metadata: Any = None, role: str = "user", id: str | None = "m", **more: Any
) -> Packed:
    message = NewMessage(
        role=role, parts=list(parts), metadata={} if metadata is None else metadata, id=id, **more
    )
    return pack(message, lambda: "made")


def refused(*parts: Any, **more: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        packed(*parts, **more)
    return caught.value
