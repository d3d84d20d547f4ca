"""Messages of OpenAI chat completions: any message, and whole conversations."""

from __future__ import annotations

from hypothesis import strategies as st

from sapwood.testing.strategies import json_objects, json_values

from .values import (
    Json,
    arguments,
    base64s,
    ids,
    just,
    odd_base64s,
    shaped,
    texts,
    tool_names,
    urls,
)

text_parts = shaped({"type": just("text"), "text": texts})
refusal_parts = shaped({"type": just("refusal"), "refusal": texts})
data_urls = odd_base64s.map(lambda data: f"data:image/png;base64,{data}")
image_parts = shaped(
    {
        "type": just("image_url"),
        "image_url": shaped(
            {"url": urls | data_urls}, {"detail": st.sampled_from(["auto", "low", "high"])}
        ),
    }
)
audio_parts = shaped(
    {
        "type": just("input_audio"),
        "input_audio": shaped({"data": odd_base64s, "format": st.sampled_from(["wav", "mp3"])}),
    }
)
file_parts = shaped(
    {
        "type": just("file"),
        "file": shaped(
            {},
            {
                "file_data": base64s.map(lambda data: f"data:application/pdf;base64,{data}")
                | odd_base64s,
                "file_id": ids,
                "filename": texts,
            },
        ),
    }
)
new_parts = shaped({"type": just("hologram"), "light": json_values})

user_content = texts | st.lists(
    text_parts | image_parts | audio_parts | file_parts | new_parts, max_size=4
)
plain_content = texts | st.lists(text_parts, max_size=3)

function_calls = shaped(
    {
        "id": ids,
        "type": just("function"),
        "function": shaped({"name": tool_names, "arguments": arguments}),
    }
)
custom_calls = shaped(
    {"id": ids, "type": just("custom"), "custom": shaped({"name": tool_names, "input": texts})}
)
new_calls = shaped({"id": ids, "type": just("browse"), "browse": json_objects})
tool_calls = function_calls | function_calls | custom_calls | new_calls

instructions = shaped(
    {"role": st.sampled_from(["system", "developer"]), "content": plain_content}, {"name": texts}
)
user_messages = shaped({"role": just("user"), "content": user_content}, {"name": texts})
_said = {
    "name": texts,
    "refusal": st.none() | texts,
    "audio": st.none() | shaped({"id": ids}, {"transcript": texts, "data": base64s}),
    "annotations": st.just([]) | st.lists(json_objects, max_size=2),
    "reasoning_content": st.none() | texts,
    "reasoning": st.none() | texts,
    "function_call": st.none(),
}
assistant_texts = shaped(
    {
        "role": just("assistant"),
        "content": texts | st.lists(text_parts | refusal_parts, min_size=1, max_size=3),
    },
    {**_said, "tool_calls": st.none()},
)
assistant_calls = shaped(
    {
        "role": just("assistant"),
        "tool_calls": st.lists(tool_calls, min_size=1, max_size=3, unique_by=lambda it: it["id"]),
    },
    {**_said, "content": st.none() | plain_content},
)
tool_messages = shaped(
    {"role": just("tool"), "tool_call_id": ids, "content": plain_content}, {"name": texts}
)
older_calls = shaped(
    {
        "role": just("assistant"),
        "content": st.none() | texts,
        "function_call": shaped({"name": tool_names, "arguments": arguments}),
    }
)
older_results = shaped({"role": just("function"), "name": tool_names, "content": st.none() | texts})
messages = st.one_of(
    instructions,
    user_messages,
    assistant_texts,
    assistant_calls,
    tool_messages,
    older_calls,
    older_results,
)
"""Any message."""


@st.composite
def rounds(draw: st.DrawFn) -> list[Json]:
    """A message with calls, and the messages of their results right after it, in any order."""
    called = draw(assistant_calls)
    order = draw(st.permutations([call["id"] for call in called["tool_calls"]]))
    return [called, *({**draw(tool_messages), "tool_call_id": id} for id in order)]


@st.composite
def older_rounds(draw: st.DrawFn) -> list[Json]:
    """A call of the older form and its result."""
    called = draw(older_calls)
    return [called, {**draw(older_results), "name": called["function_call"]["name"]}]


_one = (instructions | user_messages | assistant_texts).map(lambda message: [message])
conversations = st.lists(_one | rounds() | older_rounds(), max_size=5).map(
    lambda steps: [message for step in steps for message in step]
)
"""Whole conversations."""
