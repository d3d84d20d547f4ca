"""The AI SDK's UI messages: any message, and whole conversations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from sapwood.testing.strategies import json_objects, json_values

from .values import Json, ids, just, odd_base64s, shaped, texts, tool_names, urls

_streamed: Json = {
    "state": st.sampled_from(["streaming", "done"]),
    "providerMetadata": json_objects,
}
text_parts = shaped({"type": just("text"), "text": texts}, _streamed)
reasoning_parts = shaped({"type": just("reasoning"), "text": texts}, {**_streamed, "id": ids})
data_urls = odd_base64s.map(lambda data: f"data:image/png;base64,{data}")
file_parts = shaped(
    {
        "type": st.sampled_from(["file", "file", "reasoning-file"]),
        "mediaType": st.sampled_from(["image/png", "text/plain", "image/*"]),
        "url": urls | data_urls,
    },
    {"filename": texts, "providerMetadata": json_objects},
)
source_parts = shaped(
    {"type": just("source-url"), "sourceId": ids, "url": urls}, {"title": texts}
) | shaped(
    {
        "type": just("source-document"),
        "sourceId": ids,
        "mediaType": just("application/pdf"),
        "title": texts,
    }
)
data_parts = shaped(
    {"type": st.sampled_from(["data-weather", "data-x"]), "data": json_values}, {"id": ids}
)
steps = just({"type": "step-start"})
new_parts = shaped({"type": st.sampled_from(["hologram", "custom"]), "kind": json_values})

_call: Json = {
    "providerExecuted": st.booleans(),
    "callProviderMetadata": json_objects,
    "title": texts,
}
_ran: Json = {**_call, "resultProviderMetadata": json_objects}
_allowed = shaped({"id": ids, "approved": just(True)}, {"reason": texts})


def _state(name: str, required: Json, optional: Json) -> st.SearchStrategy[Json]:
    return shaped({"toolCallId": ids, "state": just(name), **required}, optional)


_states = st.one_of(
    _state("input-streaming", {}, {**_call, "input": json_values}),
    _state("input-available", {"input": json_values}, _call),
    _state("approval-requested", {"input": json_values, "approval": shaped({"id": ids})}, _call),
    _state(
        "approval-responded",
        {"input": json_values, "approval": shaped({"id": ids, "approved": st.booleans()})},
        _call,
    ),
    _state(
        "output-available",
        {"input": json_values, "output": json_values},
        {**_ran, "preliminary": st.booleans(), "approval": _allowed},
    ),
    _state(
        "output-error",
        {"errorText": texts},
        {**_ran, "input": json_values, "rawInput": json_values, "approval": _allowed},
    ),
    _state(
        "output-denied",
        {
            "input": json_values,
            "approval": shaped({"id": ids, "approved": just(False)}, {"reason": texts}),
        },
        _call,
    ),
)


@st.composite
def tool_parts(draw: st.DrawFn) -> Json:
    """A call of a tool, in any state."""
    state, name = draw(_states), draw(tool_names)
    if draw(st.booleans()):
        return {**state, "type": "dynamic-tool", "toolName": name}
    return {**state, "type": f"tool-{name}"}


_optional: Json = {"metadata": json_values | json_objects}


def _message(role: str, parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    required = {"id": ids, "role": just(role), "parts": st.lists(parts, max_size=5)}
    return shaped(required, _optional)


messages = st.one_of(
    _message("system", text_parts),
    _message("user", text_parts | file_parts | data_parts | new_parts),
    _message(
        "assistant",
        st.one_of(
            text_parts,
            reasoning_parts,
            file_parts,
            source_parts,
            data_parts,
            steps,
            new_parts,
            tool_parts(),
            tool_parts(),
        ),
    ),
)
"""Any message."""


def _with_own_ids(messages: list[Json]) -> list[Json]:
    """Give each message and each call an id of its own."""
    for number, message in enumerate(messages):
        message["id"] += f"_{number}"
        for place, part in enumerate(message["parts"]):
            if "toolCallId" in part:
                part["toolCallId"] += f"_{number}_{place}"
    return messages


conversations = st.lists(messages, max_size=5).map(_with_own_ids)
"""Whole conversations."""
