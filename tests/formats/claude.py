"""Anthropic's messages: any message, and whole conversations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from sapwood.testing.strategies import json_objects, json_values

from .values import Json, base64s, ids, just, odd_base64s, shaped, texts, tool_names, urls

cache = st.none() | just({"type": "ephemeral"}) | just({"type": "ephemeral", "ttl": "1h"})
_cached: Json = {"cache_control": cache}

citations = st.none() | st.lists(
    shaped({"type": just("char_location"), "cited_text": texts, "document_index": just(0)}),
    max_size=2,
)
text_blocks = shaped({"type": just("text"), "text": texts}, {**_cached, "citations": citations})
_images = st.sampled_from(["image/png", "image/jpeg", "image/webp"])
_by_url = shaped({"type": just("url"), "url": urls})
_by_id = shaped({"type": just("file"), "file_id": ids})
image_blocks = shaped(
    {
        "type": just("image"),
        "source": shaped({"type": just("base64"), "media_type": _images, "data": odd_base64s})
        | _by_url
        | _by_id,
    },
    _cached,
)
document_blocks = shaped(
    {
        "type": just("document"),
        "source": shaped(
            {"type": just("base64"), "media_type": just("application/pdf"), "data": base64s}
        )
        | shaped({"type": just("text"), "media_type": just("text/plain"), "data": texts})
        | shaped({"type": just("content"), "content": texts | st.lists(text_blocks, max_size=2)})
        | _by_url
        | _by_id,
    },
    {**_cached, "title": st.none() | texts, "context": st.none() | texts},
)
search_blocks = shaped(
    {
        "type": just("search_result"),
        "source": texts,
        "title": texts,
        "content": st.lists(text_blocks, max_size=2),
    }
)
thinking_blocks = shaped({"type": just("thinking"), "thinking": texts, "signature": base64s})
redacted_blocks = shaped({"type": just("redacted_thinking"), "data": base64s})
use_blocks = shaped(
    {"type": just("tool_use"), "id": ids, "name": tool_names, "input": json_objects},
    {**_cached, "caller": just({"type": "direct"})},
)
result_content = texts | st.lists(
    text_blocks | image_blocks | document_blocks | search_blocks, max_size=3
)
result_blocks = shaped(
    {"type": just("tool_result"), "tool_use_id": ids},
    {**_cached, "content": result_content, "is_error": st.booleans()},
)
server_uses = shaped(
    {"type": just("server_tool_use"), "id": ids, "name": just("web_search"), "input": json_objects}
)
mcp_uses = shaped(
    {
        "type": just("mcp_tool_use"),
        "id": ids,
        "name": tool_names,
        "server_name": texts,
        "input": json_objects,
    }
)
server_results = shaped(
    {
        "type": just("web_search_tool_result"),
        "tool_use_id": ids,
        "content": st.lists(json_objects, max_size=2)
        | just({"type": "web_search_tool_result_error", "error_code": "unavailable"}),
    }
)
mcp_results = shaped(
    {
        "type": just("mcp_tool_result"),
        "tool_use_id": ids,
        "content": texts | st.lists(text_blocks, max_size=2),
        "is_error": st.booleans(),
    }
)
new_blocks = shaped({"type": st.sampled_from(["hologram", "container_upload"]), "x": json_values})


@st.composite
def served(draw: st.DrawFn) -> list[Json]:
    """The use of a tool at the vendor, with its result in most cases."""
    use, result = draw(st.sampled_from([(server_uses, server_results), (mcp_uses, mcp_results)]))
    called = draw(use)
    answered = {**draw(result), "tool_use_id": called["id"]}
    return draw(st.sampled_from([[called, answered], [called, answered], [called], [answered]]))


def _flat(blocks: list[Any]) -> list[Json]:
    """Join blocks and runs of them; each run has an id of its own, as the vendor's tools have."""
    flat: list[Json] = []
    for number, block in enumerate(blocks):
        for it in block if isinstance(block, list) else []:
            name = "id" if it["type"].endswith("_use") else "tool_use_id"
            it[name] = f"srv{number}_{it[name]}"
        flat += block if isinstance(block, list) else [block]
    return flat


user_blocks = text_blocks | image_blocks | document_blocks | search_blocks | new_blocks
said_blocks = text_blocks | thinking_blocks | redacted_blocks | served() | new_blocks

user_messages = shaped({"role": just("user"), "content": texts | st.lists(user_blocks, max_size=4)})
_returned: Json = {
    "id": ids,
    "type": just("message"),
    "model": texts,
    "stop_reason": st.none() | texts,
    "usage": json_objects,
}
assistant_messages = shaped(
    {"role": just("assistant"), "content": texts | st.lists(said_blocks, max_size=4).map(_flat)},
    _returned,
)
system_messages = shaped(
    {"role": just("system"), "content": texts | st.lists(text_blocks, max_size=2)}
)
result_messages = shaped(
    {"role": just("user"), "content": st.lists(result_blocks, min_size=1, max_size=3)}
)
calling_messages = shaped(
    {
        "role": just("assistant"),
        "content": st.tuples(
            st.lists(said_blocks, max_size=2),
            st.lists(use_blocks, min_size=1, max_size=3, unique_by=lambda it: it["id"]),
        ).map(lambda both: _flat([*both[0], *both[1]])),
    },
    _returned,
)
messages = st.one_of(
    user_messages, assistant_messages, system_messages, result_messages, calling_messages
)
"""Any message."""


@st.composite
def rounds(draw: st.DrawFn) -> list[Json]:
    """Uses of tools, and their results at the start of the message after it."""
    called = draw(calling_messages)
    uses = [block["id"] for block in called["content"] if block["type"] == "tool_use"]
    order = draw(st.permutations(uses))
    results = [{**draw(result_blocks), "tool_use_id": id} for id in order]
    cut = draw(st.integers(0, len(results)))
    if 0 < cut < len(results) and draw(st.booleans()):  # neighbours of one role are one turn
        answers = [results[:cut], results[cut:]]
    else:
        answers = [[*results, *draw(st.lists(user_blocks, max_size=2))]]
    return [called, *({"role": "user", "content": content} for content in answers)]


_one = (user_messages | assistant_messages | system_messages).map(lambda message: [message])


def _with_own_ids(steps: list[list[Json]]) -> list[Json]:
    """Join the steps; no two messages have the same id."""
    flat = [message for step in steps for message in step]
    for number, message in enumerate(flat):
        if isinstance(message.get("id"), str):
            message["id"] += f"_{number}"
    return flat


conversations = st.lists(_one | rounds(), max_size=5).map(_with_own_ids)
"""Whole conversations."""
