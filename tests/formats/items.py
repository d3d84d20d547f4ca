"""Items of OpenAI responses: any item, and whole inputs."""

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

statuses = st.sampled_from(["in_progress", "completed", "incomplete"])
_own: Json = {"id": ids, "status": statuses}

input_texts = shaped({"type": just("input_text"), "text": texts})
output_texts = shaped(
    {"type": just("output_text"), "text": texts},
    {"annotations": st.lists(json_objects, max_size=2), "logprobs": just([])},
)
refusals = shaped({"type": just("refusal"), "refusal": texts})
data_urls = odd_base64s.map(lambda data: f"data:image/png;base64,{data}")
images = shaped(
    {"type": just("input_image")},
    {
        "detail": st.sampled_from(["auto", "low"]),
        "image_url": st.none() | urls | data_urls,
        "file_id": st.none() | ids,
    },
)
files = shaped(
    {"type": just("input_file")},
    {
        "file_data": base64s.map(lambda data: f"data:application/pdf;base64,{data}"),
        "file_id": st.none() | ids,
        "file_url": urls,
        "filename": texts,
    },
)
new_contents = shaped({"type": just("input_hologram"), "light": json_values})

input_messages = shaped(
    {
        "role": st.sampled_from(["user", "system", "developer"]),
        "content": texts | st.lists(input_texts | images | files | new_contents, max_size=3),
    },
    {**_own, "type": just("message")},
)
easy_messages = shaped(
    {"role": just("assistant"), "content": texts | st.lists(input_texts, max_size=2)},
    {"type": st.none() | just("message"), "phase": st.none() | just("commentary")},
)
output_messages = shaped(
    {
        "role": just("assistant"),
        "type": just("message"),
        "content": st.lists(output_texts | refusals, max_size=3),
        **_own,
    }
)
_summaries = st.lists(shaped({"type": just("summary_text"), "text": texts}), max_size=3)
_plain_summaries = st.lists(
    st.fixed_dictionaries({"type": just("summary_text"), "text": texts}), max_size=3
)
reasonings = shaped(
    {"type": just("reasoning"), "id": ids, "summary": _summaries | _plain_summaries},
    {
        "content": st.lists(
            st.fixed_dictionaries({"type": just("reasoning_text"), "text": texts}), max_size=2
        ),
        "encrypted_content": st.none() | base64s,
        "status": statuses,
    },
)
function_calls = shaped(
    {"type": just("function_call"), "call_id": ids, "name": tool_names, "arguments": arguments},
    _own,
)
custom_calls = shaped(
    {"type": just("custom_tool_call"), "call_id": ids, "name": tool_names, "input": texts}, _own
)
shell_calls = shaped(
    {
        "type": st.sampled_from(["local_shell_call", "shell_call"]),
        "call_id": ids,
        "action": json_objects,
    },
    _own,
)
other_calls = shaped(
    {"type": st.sampled_from(["computer_call", "apply_patch_call"]), "call_id": ids},
    {"operation": json_objects, "actions": st.lists(json_objects, max_size=2), **_own},
)
calls = function_calls | function_calls | custom_calls | shell_calls | other_calls
outputs = texts | st.lists(input_texts | images | files, max_size=3)
function_outputs = shaped(
    {"type": just("function_call_output"), "call_id": ids, "output": outputs}, _own
)
_mcp: Json = {
    "type": just("mcp_call"),
    "id": ids,
    "name": tool_names,
    "arguments": arguments,
    "server_label": texts,
}
mcp_calls = shaped(
    _mcp, {"output": st.none() | texts, "error": st.none(), "status": statuses}
) | shaped({**_mcp, "error": texts | json_objects}, {"output": st.none(), "status": statuses})
image_calls = shaped(
    {
        "type": just("image_generation_call"),
        "id": ids,
        "result": st.none() | odd_base64s,
        "status": just("completed"),
    },
    {"output_format": st.none() | just("webp")},
)
hosted = shaped(
    {
        "type": st.sampled_from(["web_search_call", "file_search_call", "code_interpreter_call"]),
        "id": ids,
        "status": just("completed"),
    },
    {"action": json_objects, "queries": st.lists(texts, max_size=2)},
)
others = shaped(
    {
        "type": st.sampled_from(
            ["mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction", "new"]
        )
    },
    {"id": ids},
)
references = st.fixed_dictionaries(
    {"id": ids}, optional={"type": st.none() | just("item_reference")}
)
items = st.one_of(
    input_messages,
    easy_messages,
    output_messages,
    reasonings,
    calls,
    function_outputs,
    mcp_calls,
    image_calls,
    hosted,
    others,
    references,
)
"""Any item."""


@st.composite
def rounds(draw: st.DrawFn) -> list[Json]:
    """Calls side by side, then what they gave, in any order."""
    called = draw(st.lists(calls, min_size=1, max_size=3, unique_by=lambda it: it["call_id"]))
    given: list[Json] = []
    for call in draw(st.permutations(called)):
        kind = draw(st.sampled_from([f"{call['type']}_output", "function_call_output"]))
        name = "id" if kind == "local_shell_call_output" else "call_id"
        given.append({"type": kind, name: call["call_id"], "output": draw(outputs)})
    return [*draw(st.lists(reasonings, max_size=1)), *called, *given]


_one = st.one_of(input_messages, easy_messages, output_messages, reasonings, mcp_calls, hosted)


def _with_own_ids(steps: list[list[Json]]) -> list[Json]:
    """Join the steps; no two items have the same id."""
    flat = [item for step in steps for item in step]
    named = "local_shell_call_output"
    for number, item in enumerate(flat):
        if "id" in item and item.get("type") != named:
            item["id"] += f"_{number}"
    return flat


conversations = st.lists(_one.map(lambda item: [item]) | rounds(), max_size=5).map(_with_own_ids)
"""Whole inputs."""
