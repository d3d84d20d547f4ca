"""Hypothesis strategies: JSON values, parts and messages such as clients write."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..model import (
    FilePart,
    NewMessage,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_from_json,
)

unicode_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
"""Any text that is valid Unicode."""

names = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)
    .filter(lambda name: len(name.encode()) <= 256)
    .map(str)
)
"""Ids, labels and owners."""

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(2**63, 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | unicode_text
)

json_values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(unicode_text, inner, max_size=4),
    max_leaves=12,
)
"""Any JSON value."""

json_objects = st.dictionaries(unicode_text, json_values, max_size=4)
"""Any JSON object."""

_FIELDS = {"type", "text", "call_id", "name", "input", "output", "is_error", "extra"}
_extra = st.dictionaries(
    unicode_text.filter(lambda key: key not in _FIELDS | {"media_type", "uri", "data", "value"}),
    json_values,
    max_size=2,
)

parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=unicode_text, extra=_extra),
    st.builds(ReasoningPart, text=unicode_text, extra=_extra),
    st.builds(ToolCallPart, call_id=names, name=names, input=json_values, extra=_extra),
    st.builds(
        ToolResultPart, call_id=names, output=json_values, is_error=st.booleans(), extra=_extra
    ),
    st.builds(
        FilePart,
        media_type=st.sampled_from(["image/png", "text/plain", "application/pdf"]),
        uri=st.none() | unicode_text,
        data=st.none() | st.binary(max_size=30),
        name=st.none() | unicode_text,
        extra=_extra,
    ),
    st.builds(OtherPart, value=json_objects),
    st.builds(
        part_from_json,
        st.fixed_dictionaries({"type": st.sampled_from(["text", "file", "new"])}).flatmap(
            lambda kind: _extra.map(lambda extra: {**extra, **kind})
        ),
    ),
)
"""Any part, our own and others'."""

new_messages = st.builds(
    NewMessage,
    role=st.sampled_from(["user", "assistant", "tool", "system"]) | names,
    parts=st.lists(parts, max_size=4),
    metadata=json_objects,
    tokens=st.none() | st.integers(0, 10_000),
    name=st.none() | names,
)
"""Any message without an id."""
